import FoundationEssentials
import HostedContent
import HostedFileIO

/// The options for access to a store on the web.
enum NetworkArguments {
  /// The options of every command that reads a store.
  static let options: [Command.Option] = [
    .root,
    .init("--mirror", "URL", "another web server with the same files; may be repeated"),
    .init("--trust-on-first-use", nil, "trust the root of a store on the web the first time"),
    .init("--token-file", "FILE", "a bearer token for the store and its mirrors"),
    .init("--header", "NAME:VALUE", "a header for the store and its mirrors; may be repeated"),
    .init(
      "--allow-plain-http", "URL",
      "a server that may receive token, headers and proxy password unencrypted; may be repeated"),
    .init("--ca", "FILE", "certificate authorities (PEM) instead of the system's"),
    .init("--proxy", "URL", "a proxy, or none; default: from the environment"),
    .init("--connect-timeout", "SECONDS", "the timeout for a connection; default 15"),
    .init("--stall-timeout", "SECONDS", "the time without progress before a retry; default 15"),
    .init("--attempts", "N", "the maximum number of requests for a piece; default 5"),
    .init(
      "--busy-timeout", "SECONDS",
      "the maximum wait for a server that answers 429 or 503; default 90"),
  ]

  static func options(without names: Set<String>) -> [Command.Option] {
    options.filter { !names.contains($0.name) }
  }

  static let transferOptions: [Command.Option] = [
    .limitRate,
    .init(
      "--connections", "N",
      "concurrent requests to one host, four times as many with HTTP/2; default 8"),
  ]
}

extension Arguments {
  func storeLocation() throws -> StoreLocation { try StoreLocation(required("--store")) }

  /// The other servers of the store, from `--mirror`.
  func mirrors() throws -> [StoreLocation] { try values("--mirror").map { try StoreLocation($0) } }

  func trustedRoot() throws -> [UInt8]? {
    try text("--root").map { try FileSystem.real.file(at: $0).contents(limit: 512 << 10) }
  }

  /// Whether to trust the root of a store on the web.
  ///
  /// Prints a note, because nothing else confirms it.
  func trustsOnFirstUse(_ console: Console) -> Bool {
    guard has("--trust-on-first-use") else { return false }
    console.note("Trusting the store's root on first use: nothing else confirms it.")
    return true
  }

  /// The store of `--store`, with the network options and `--library`.
  func storeReader(_ console: Console) throws -> StoreReader {
    StoreReader(
      try storeLocation(), trustedRoot: try trustedRoot(),
      trustsOnFirstUse: trustsOnFirstUse(console),
      library: has("--library") ? try library() : nil, mirrors: try mirrors(),
      network: try network())
  }

  func network() throws -> NetworkSettings {
    var network = NetworkSettings()
    network.bearerToken = try secret("--token-file")
    for header in values("--header") {
      guard let colon = header.firstIndex(of: ":"), colon != header.startIndex else {
        throw wrong("--header takes NAME:VALUE")
      }
      let name = String(header[..<colon])
      guard !network.headers.keys.contains(where: { $0.lowercased() == name.lowercased() }) else {
        throw wrong("--header has \(name) twice")
      }
      let value = header[header.index(after: colon)...].drop { $0 == " " }
      network.headers[name] = String(value)
    }
    network.plainHTTPOrigins = try values("--allow-plain-http").map { text in
      guard let url = URL(string: text), url.scheme?.lowercased() == "http", url.host() != nil
      else {
        throw wrong("--allow-plain-http takes an http:// URL, not “\(text)”")
      }
      return url
    }
    network.certificateAuthorities = try text("--ca").map { URL(filePath: $0) }
    network.proxy = try proxy() ?? network.proxy
    network.connectTimeout = try seconds("--connect-timeout") ?? network.connectTimeout
    network.stallTimeout = try seconds("--stall-timeout") ?? network.stallTimeout
    network.busyTimeout = try seconds("--busy-timeout") ?? network.busyTimeout
    network.attempts = try number("--attempts", minimum: 1) ?? network.attempts
    if let connections = try number("--connections", minimum: 1) {
      network.limits.connectionsPerHost = connections
      network.limits.connections = max(network.limits.connections, connections)
    }
    network.limits.bytesPerSecond = try bytesPerSecond()
    return network
  }

  private func proxy() throws -> NetworkSettings.Proxy? {
    guard let text = try text("--proxy") else { return nil }
    if text == "none" { return .direct }
    // Without a scheme, libcurl uses HTTP. The text may contain a password, so it is not printed.
    let whole = text.contains("://") ? text : "http://\(text)"
    guard let url = URL(string: whole, encodingInvalidCharacters: false) else {
      throw wrong("--proxy takes a URL such as http://user:p%40ss@proxy.example:3128, or none")
    }
    return .url(url)
  }

  private func seconds(_ option: String) throws -> Duration? {
    try number(option, minimum: 1).map { .seconds($0) }
  }

  func bytesPerSecond() throws -> Int64? {
    try value("--limit-rate", "a number of bytes such as 500k or 20M") { text -> Int64? in
      let factors: [String: Int64] = ["K": 1000, "M": 1_000_000, "G": 1_000_000_000]
      let factor = factors[text.suffix(1).uppercased()]
      let digits = factor == nil ? text[...] : text.dropLast()
      guard let number = Int64(digits), (1...1_000_000_000).contains(number) else { return nil }
      return number * (factor ?? 1)
    }
  }

  func listenAddress(defaultPort port: UInt16) throws -> ListenAddress {
    try value("--listen", "an address and a port") { ListenAddress($0) }
      ?? ListenAddress(address: "127.0.0.1", port: port)
  }
}

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
