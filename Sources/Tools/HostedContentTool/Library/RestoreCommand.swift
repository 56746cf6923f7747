import ContentModel
import FoundationEssentials
import HostedContent

enum RestoreCommand {
  static let command = Command(
    name: "restore", summary: "Restores the account's purchases. With --download, installs them.",
    options: [
      .store, .library, .account, .grants,
      .init("--download", nil, "download and install the restored products"), .json,
    ] + ServiceArguments.optional + NetworkArguments.options + NetworkArguments.transferOptions,
    example: "hostedcontent restore --store store --library lib2 --grants ledger.sqlite --download",
    run: run)

  private struct Purchase: Encodable {
    let productIdentifier: ProductIdentifier
    let originalTransactionIdentifier: String
    let contents: [String]
  }

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let account = try arguments.account()
    let queue = try PaymentQueue(arguments.queueConfiguration(console))
    let closer = QueueCloser(queue, console)
    defer { closer.close() }
    let transactions = try await queue.restore(withApplicationUsername: account)
    console.signals?.setHandler { _ in closer.begin() }
    let progress = ProgressLines(console)
    if arguments.has("--download") {
      queue.add(progress)
      // Start all at once, then wait for each.
      queue.start(transactions.flatMap(\.downloads))
    }
    var failures: [ContentError] = []
    var done: [PaymentTransaction] = []
    for transaction in transactions {
      do {
        if arguments.has("--download") { _ = try await queue.install(transaction) }
        try await queue.finish(transaction)
        done.append(transaction)
      } catch {
        // An interrupt is reported once, at the end.
        if console.signals?.hasArrived == true { break }
        let product = transaction.payment.productIdentifier
        failures.append(ContentError(error, while: "restoring \(product)").about(product.rawValue))
      }
    }
    queue.remove(progress)
    progress.end()
    if console.signals?.hasArrived != true {
      await queue.waitForNotices(InstallSession.noticeLimit)
    } else if done.count < transactions.count {
      let left = Set(transactions).subtracting(done)
      failures.append(StopSignals.interrupted.before(left.map(\.payment.productIdentifier)))
    }
    try print(done, isAll: failures.isEmpty, arguments, console)
    failures.forEach(console.report)
    return failures.isEmpty ? .done : .failed
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
