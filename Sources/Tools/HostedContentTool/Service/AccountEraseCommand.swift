import HostedModel
import HostedContent

enum AccountEraseCommand {
  static let command = Command(
    name: "account erase",
    summary: "Replaces an account's name by a random one. Needs a token with the scope admin.",
    operands: "ACCOUNT", options: ServiceArguments.required,
    example: "hostedcontent account erase alice \(ServiceArguments.example)", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let account = arguments.operands[0]
    guard !account.isEmpty, account != "-" else {
      throw arguments.wrong("“\(account)” is not an account")
    }
    let server = try arguments.storeServer()
    defer { server.close() }
    _ = try await server.post("accounts/\(PercentEncoding.component(account))/erase")
    try console.print(["erased": account]) { console.print("\(account): erased") }
    return .done
  }
}
