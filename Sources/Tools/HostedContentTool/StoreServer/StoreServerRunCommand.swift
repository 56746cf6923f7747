import HostedTransfer
import FoundationEssentials
import Glibc
import HostedContent
import HostedShop
import HostedStoreAPI
import HostedStoreServer
import HostedFileServer

enum StoreServerRunCommand {
  static let command = Command(
    name: "store-server run", summary: "Sells the products of a store over HTTP, until SIGTERM.",
    operands: "STORE",
    options: [
      .init(
        "--data", "FOLDER", "the server's private data: ledger and receipt key", isRequired: true),
      LedgerArguments.database,
      .init(
        "--listen", "ADDRESS",
        "address and port; default 127.0.0.1:8090, or a socket of systemd; port 0: a free one"),
      .init("--origin", "URL", "the URL for clients, such as of nginx; default: where it listens"),
      .init("--decide", "HOW", "always (default), voucher or webhook"),
      .init("--webhook-url", "URL", "a back end that decides about purchases"),
      .init("--webhook-secret-file", "FILE", "the secret that signs requests to the webhook"),
      .init("--gate", "KIND", "who gets content: none (default), auth-request or secure-link"),
      .init("--content-url", "URL", "the store's files on a gated host; may be repeated"),
      .init("--gate-secret-file", "FILE", "the secret that signs the URLs of content"),
      .init("--url-lifetime", "SECONDS", "how long the URLs of content are valid; default 300"),
      .json,
    ] + NetworkArguments.options,
    example: "hostedcontent store-server run store --data data --listen 127.0.0.1:8090"
  ) { arguments, console in
    let location = try StoreLocation(arguments.operands[0])
    var configuration = SellingServer.Configuration()
    let listen = try arguments.listenAddress(defaultPort: 8090)
    configuration.origin = try arguments.text("--origin").map { try baseURL($0, arguments) }
    configuration.gate = try gate(arguments)
    let network = try arguments.network()
    (configuration.deciders, configuration.webhook) = try deciders(arguments, network)
    configuration.database = try arguments.database()
    let socket = try SocketActivation.socket(ProcessInfo.processInfo.environment, process: getpid())
    configuration.http.openPort = {
      try socket.map { try HeldPort(inherited: $0, at: listen.address) }
        ?? HeldPort(listen.address, listen.port)
    }
    let folder = try StoreServerFolder(arguments.required("--data"), creating: true)
    let store = StoreReader(
      location, trustedRoot: try arguments.trustedRoot(),
      trustsOnFirstUse: arguments.trustsOnFirstUse(console), mirrors: try arguments.mirrors(),
      network: network)
    let catalog = try Catalog(store, trustFolder: folder.trustFolder())
    let server = try SellingServer(folder, selling: catalog, configuration) { console.report($0) }
    console.signals?.hold()
    console.print(listeningAt: server.url)
    await console.signals?.waitForFirst()
    server.stop()
    return .done
  }

  /// The URL of an option without a slash at its end.
  private static func baseURL(_ text: String, _ arguments: Arguments) throws -> String {
    let url = try WebURL(text)
    guard url.parts.query.isEmpty else {
      throw arguments.wrong("“\(url)” has a query")
    }
    return String(url.text.hasSuffix("/") ? url.text.dropLast() : url.text[...])
  }

  private static func deciders(_ arguments: Arguments, _ network: NetworkSettings) throws
    -> (DeciderChain, WebhookDecider?)
  {
    let how = try arguments.text("--decide") ?? "always"
    let webhook = ["--webhook-url", "--webhook-secret-file"]
    if how != "webhook", let option = webhook.first(where: arguments.has) {
      throw arguments.wrong("\(option) needs --decide webhook")
    }
    switch how {
    case "always": return (DeciderChain([.always]), nil)
    case "voucher": return (DeciderChain([.voucher]), nil)
    case "webhook":
      let url = try arguments.required("--webhook-url")
      let secret = try secret("--webhook-secret-file", arguments)
      let webhook = try WebhookDecider(
        url: url, secret: WebhookSecret.bytes(secret), network: network)
      return (DeciderChain([.decider(webhook, name: "webhook")]), webhook)
    default:
      throw arguments.wrong("--decide takes always, voucher or webhook, not “\(how)”")
    }
  }

  /// Seven days, in seconds: a URL cannot be revoked.
  private static let maximumLifetime = 604_800

  private static func gate(_ arguments: Arguments) throws -> ContentGate? {
    let kind = try arguments.text("--gate") ?? "none"
    let module = ContentGate.Module(rawValue: kind)
    guard module != nil || kind == "none" else {
      throw arguments.wrong("--gate takes none, auth-request or secure-link, not “\(kind)”")
    }
    guard let module else {
      // Without --gate, content would be public by mistake.
      let options = ["--content-url", "--gate-secret-file", "--url-lifetime"]
      if !arguments.has("--gate"), let option = options.first(where: arguments.has) {
        throw arguments.wrong("\(option) needs --gate")
      }
      return nil
    }
    let urls = try arguments.values("--content-url").map { try baseURL($0, arguments) }
    guard !urls.isEmpty else { throw arguments.wrong("--content-url is missing") }
    if module == .authRequest, let url = urls.first(where: { !hasPlainPath($0) }) {
      throw arguments.wrong(
        "With --gate auth-request, the path of --content-url has only letters, digits and -._~, "
          + "not “\(url)”")
    }
    let seconds =
      try arguments.number("--url-lifetime", minimum: 2, maximum: maximumLifetime) ?? 300
    let secret = Array(try secret("--gate-secret-file", arguments).utf8)
    return ContentGate(module, secret: secret, contentURLs: urls, lifetime: .seconds(seconds))
  }

  /// Whether nginx uses the path as it is: requests for others are refused.
  private static func hasPlainPath(_ url: String) -> Bool {
    // The first three components are the scheme, nothing, and the host with its port.
    url.pathComponents(omittingEmpty: false).dropFirst(3).allSatisfy { component in
      PercentEncoding.component(component).hasSameBytes(as: component)
    }
  }

  private static func secret(_ option: String, _ arguments: Arguments) throws -> String {
    guard let secret = try arguments.secret(option) else {
      throw arguments.wrong("\(option) is missing")
    }
    guard secret.utf8.count >= 24 else {
      throw arguments.wrong(
        "\(option) names a file with fewer than 24 characters; openssl rand -hex 32 makes a secret")
    }
    return secret
  }
}
