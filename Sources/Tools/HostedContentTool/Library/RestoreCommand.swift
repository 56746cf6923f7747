import HostedModel
import FoundationEssentials
import HostedContent

enum RestoreCommand {
  static let command = Command(
    name: "restore", summary: "Restores the account's purchases. With --download, installs them.",
    options: InstallSession.options + [
      .init("--download", nil, "download and install the restored products"), .json,
    ],
    example: "hostedcontent restore --store store --library lib2 --ledger ledger.sqlite --download",
    run: run)

  private struct Purchase: Encodable {
    let productIdentifier: ProductIdentifier
    let originalTransactionIdentifier: String
    let contents: [String]
  }

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let session = try InstallSession(arguments, console)
    defer { session.close() }
    let (done, left) = try await session.restore(installing: arguments.has("--download"))
    try print(done, isAll: left.isEmpty, arguments, console)
    session.reportAbort(before: left)
    return left.isEmpty ? .done : .failed
  }

  private static func print(
    _ transactions: [PaymentTransaction], isAll: Bool, _ arguments: Arguments, _ console: Console
  ) throws {
    let purchases = transactions.map { transaction in
      Purchase(
        productIdentifier: transaction.payment.productIdentifier,
        originalTransactionIdentifier: transaction.original?.transactionIdentifier ?? "",
        contents: transaction.downloads.map { "\($0.contentIdentifier) \($0.contentVersion)" })
    }
    try console.print(["restored": purchases]) {
      if purchases.isEmpty, isAll { console.print("Nothing to restore.") }
      for purchase in purchases {
        let isInstalled = arguments.has("--download") && !purchase.contents.isEmpty
        let names = [isInstalled ? "installed" : "restored"] + purchase.contents
        console.print("\(purchase.productIdentifier): \(names.joined(separator: " "))")
      }
    }
  }
}
