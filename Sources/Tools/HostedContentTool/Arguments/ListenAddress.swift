struct ListenAddress {
  let address: String
  let port: UInt16

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
    (self.address, self.port) = (String(address), port)
  }
}

extension Arguments {
  func listenAddress(default standard: String) throws -> ListenAddress {
    let text = try text("--listen") ?? standard
    guard let listen = ListenAddress(text) else {
      throw wrong("--listen takes an address and a port, not “\(text)”")
    }
    return listen
  }
}
