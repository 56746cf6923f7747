import ContentModel
import FoundationEssentials
import HostedContent

/// `restore`: what the account bought before, on this library.
enum RestoreCommand {
  static let command = Command(
    name: "restore", summary: "Restores the account's purchases; --download installs them.",
    operands: "", operandCount: 0...0,
    options: [
      .store, .library,
      .init("--account", "NAME", "the buyer's account; default: the library's own"),
      .init("--grants", "FILE", "the database of grants; default: grants.sqlite in the library"),
      .init("--download", nil, "download and install what is restored"), .json,
    ] + NetworkArguments.options + NetworkArguments.transferOptions,
    example: "hostedcontent restore --store store --library lib2 --grants grants.sqlite --download",
    run: run)

  private struct Report: Encodable {
    let restored: [Purchase]

    struct Purchase: Encodable {
      let productIdentifier: String
      let originalTransactionIdentifier: String
      let contents: [String]
    }
  }

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let queue = try PaymentQueue(arguments.queueConfiguration(console))
    defer { queue.close() }
    let transactions = try await queue.restore(
      withApplicationUsername: arguments.text("--account"))
    // All at once; each is then waited for.
    if arguments.has("--download") { queue.start(transactions.flatMap(\.downloads)) }
    var failures: [ContentError] = []
    var done: [PaymentTransaction] = []
    for transaction in transactions {
      do {
        if arguments.has("--download") { _ = try await queue.install(transaction) }
        try await queue.finish(transaction)
        done.append(transaction)
      } catch let error as ContentError {
        failures.append(error.about(transaction.payment.productIdentifier.rawValue))
      }
    }
    try print(done, isAll: failures.isEmpty, arguments, console)
    failures.forEach(console.report)
    return failures.isEmpty ? .done : .failed
  }

  private static func print(
    _ transactions: [PaymentTransaction], isAll: Bool, _ arguments: Arguments, _ console: Console
  ) throws {
    let purchases = transactions.map { transaction in
      Report.Purchase(
        productIdentifier: transaction.payment.productIdentifier.rawValue,
        originalTransactionIdentifier: transaction.original?.transactionIdentifier ?? "",
        contents: transaction.downloads.map { "\($0.contentIdentifier) \($0.contentVersion)" })
    }
    if arguments.has("--json") {
      try console.print(json: Report(restored: purchases))
    } else if purchases.isEmpty, isAll {
      console.print("There is nothing to restore.")
    } else {
      for purchase in purchases {
        let isInstalled = arguments.has("--download") && !purchase.contents.isEmpty
        let names = [isInstalled ? "installed" : "restored"] + purchase.contents
        console.print("\(purchase.productIdentifier): \(names.joined(separator: " "))")
      }
    }
  }
}
