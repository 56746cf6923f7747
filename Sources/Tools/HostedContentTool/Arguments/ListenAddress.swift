struct ListenAddress {
  let address: String
  let port: UInt16
}

extension ListenAddress {
  /// Parses `127.0.0.1:8080`, `localhost:0` or `[::1]:8080`; nil for other text.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var address = text[..<colon]
    if address.hasPrefix("["), address.hasSuffix("]") {
      address = address.dropFirst().dropLast()
    } else if address.contains(":") {
      return nil
    }
    guard !address.isEmpty else { return nil }
    self.init(address: String(address), port: port)
  }
}

extension Arguments {
  func listenAddress(defaultPort port: UInt16) throws -> ListenAddress {
    try value("--listen", "an address and a port") { ListenAddress($0) }
      ?? ListenAddress(address: "127.0.0.1", port: port)
  }
}
