import HostedTransfer
import FoundationEssentials
import HostedContent

enum ServiceArguments {
  private static let url = "the store server, such as https://store.example.com"
  private static let token = "a file or pipe with its token, such as /dev/fd/3"

  /// The options of commands that may use a store server.
  static let optional: [Command.Option] = [
    .init("--service", "URL", "\(url); default: the built-in store service"),
    .init("--service-token-file", "FILE", token),
  ]

  static let required: [Command.Option] =
    [
      .init("--service", "URL", url, isRequired: true),
      .init("--service-token-file", "FILE", token, isRequired: true),
    ]
    + NetworkArguments.options.filter {
      ["--allow-plain-http", "--ca", "--proxy", "--connect-timeout", "--busy-timeout"].contains(
        $0.name)
    } + [.json]

  static let example = "--service https://store.example.com --service-token-file token"

  static let account = Command.Option(
    "--account", "NAME", "the account; default: the own account of the token's key")
}

extension Arguments {
  /// The account of `--account`; nil for the own account.
  func account() throws -> AccountID? { try text("--account").map(AccountID.init(rawValue:)) }

  func storeServer() throws -> StoreServerConnection {
    let service = try service(required("--service"))
    return try StoreServerConnection(service.url, token: service.token, network: network())
  }

  /// The URL of the store server at `address`, and the token in `--service-token-file`.
  func service(_ address: String) throws -> (url: URL, token: String) {
    guard let url = URL(string: address), let token = try secret("--service-token-file") else {
      throw wrong("--service takes a URL and needs --service-token-file")
    }
    return (url, token)
  }
}

extension StoreServerConnection {
  /// Sends a POST request that can be repeated; null for a response without a body.
  func post(_ path: String, _ body: [String: JSONValue] = [:]) async throws -> JSONValue {
    let response = try await send("POST", "/v1/\(path)", body: .object(body))
    try check(response)
    return try response.body.isEmpty ? .null : json(response)
  }
}
