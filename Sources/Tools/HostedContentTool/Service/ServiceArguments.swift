/// The options for a store server.
enum ServiceArguments {
  private static let url = "the store server, such as https://store.example.com"
  private static let token = "a file or pipe with its token, such as /dev/fd/3"

  /// The options of commands that may use a store server.
  static let optional: [Command.Option] = [
    .init("--service", "URL", "\(url); default: the built-in seller"),
    .init("--service-token-file", "FILE", token),
  ]

  /// The options of commands for a store server.
  static let required: [Command.Option] =
    [
      .init("--service", "URL", url, isRequired: true),
      .init("--service-token-file", "FILE", token, isRequired: true),
    ]
    + NetworkArguments.options.filter {
      ["--allow-plain-http", "--ca", "--proxy", "--connect-timeout", "--busy-timeout"].contains(
        $0.name)
    } + [.json]

  /// The required options in examples.
  static let example = "--service https://store.example.com --service-token-file token"

  /// The option of commands for one account.
  static let account = Command.Option(
    "--account", "NAME", "the account; default: the own account of the token's key")
}
