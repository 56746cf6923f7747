import HostedConcurrency
import ContentStore
import HostedFileServer

enum ServeCommand {
  static let command = Command(
    name: "serve", summary: "Serves a store over HTTP, optionally with scripted faults.",
    operands: "STORE",
    options: [
      .init(
        "--listen", "ADDRESS",
        "address and port; default 127.0.0.1:8080; port 0 selects a free port"),
      .init("--certificate", "FILE", "serve HTTPS with this certificate chain (PEM)"),
      .init("--key", "FILE", "the certificate's key (PEM)"),
      .init("--fault", "FILE", "a script of faults (Documentation/Server.md)"),
      .init("--latency", "TIME", "the delay before each response, such as 20ms"),
      .init("--rate", "RATE", "bytes per second for all responses together, such as 50MB/s"),
      .init(
        "--connections-per-address", "N",
        "connections from one address; default 128; 0 is unlimited, for use behind a proxy"),
      .init("--verbose", nil, "print a line for each request on standard error"),
      .json,
    ],
    example: "hostedcontent serve store --listen 127.0.0.1:8080"
  ) { arguments, console in
    let path = arguments.operands[0]
    var configuration = try configuration(arguments, console)
    let script = try arguments.text("--fault").map { try FaultScript.read($0) } ?? .none
    // Only serve a store, so that a wrong path does not publish other files.
    _ = try StoreFolder.open(at: path)
    let checkApps = try configuration.serveApps(ofFolder: path) { console.report($0) }
    let server = try FileServer(folder: path, faults: script, configuration: configuration)
    try server.start()
    console.signals?.hold()
    console.print(listeningAt: server.url)
    // A change of `apps.json` is also noticed between requests.
    let ticker = try Ticker(every: .seconds(1), checkApps)
    defer { ticker.stop() }
    await console.signals?.waitForFirst()
    server.stop()
    return .done
  }

  private static func configuration(_ arguments: Arguments, _ console: Console) throws
    -> FileServer.Configuration
  {
    var configuration = FileServer.Configuration()
    let listen = try arguments.listenAddress(defaultPort: 8080)
    (configuration.address, configuration.port) = (listen.address, listen.port)
    configuration.certificate = try certificate(arguments)
    configuration.latency =
      try arguments.value("--latency", "a time such as 20ms", Quantities.time) ?? .zero
    configuration.rate = try arguments.value("--rate", "a rate such as 50MB/s", Quantities.rate)
    configuration.limits.connectionsPerAddress =
      try arguments.number("--connections-per-address", minimum: 0)
      ?? configuration.limits.connectionsPerAddress
    configuration.recording = arguments.has("--verbose") ? .reported : .none
    configuration.onRequest = { console.note($0.line) }
    return configuration
  }

  private static func certificate(_ arguments: Arguments) throws -> Certificate? {
    switch (try arguments.text("--certificate"), try arguments.text("--key")) {
    case (nil, nil): return nil
    case (let chain?, let key?): return Certificate(chain: chain, key: key)
    case (_?, nil): throw arguments.wrong("--certificate needs --key")
    case (nil, _?): throw arguments.wrong("--key needs --certificate")
    }
  }
}
