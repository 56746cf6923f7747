import HostedContent

enum GetCommand {
  static let command = Command(
    name: "get", summary: "Buys, downloads and installs products. Safe to repeat.",
    operands: "ID…",
    options: InstallSession.options + [.json],
    example: "hostedcontent get com.example.book.chapter1 --store store --library lib"
  ) { arguments, console in
    let identifiers = try arguments.operands.map { try arguments.identifier($0) }
    let session = try InstallSession(arguments, console)
    defer { session.close() }
    return try await session.install(identifiers, mayBuy: true)
  }
}

enum UpdateCommand {
  static let command = Command(
    name: "update", summary: "Installs newer versions of installed content.", operands: "[ID…]",
    options: InstallSession.options + [.requireUpdate, .json],
    example: "hostedcontent update --store store --library lib"
  ) { arguments, console in
    let given = try arguments.operands.map { try arguments.identifier($0) }
    // A missing library is an error here, and must not be created.
    let reader = try arguments.libraryReader()
    let session = try InstallSession(arguments, console)
    defer { session.close() }
    let installed = Set(try reader.contents().map(\.content.productIdentifier))
    let missing = Set(given).subtracting(installed)
    missing.sorted().forEach { console.report(.notInstalled($0.rawValue, among: installed)) }
    let outdated = try await session.outdated()
    let wanted = given.isEmpty ? outdated : given.filter { !missing.contains($0) }
    if outdated.contains(where: wanted.contains) {
      let status = try await session.install(wanted, mayBuy: false)
      return missing.isEmpty ? status : .failed
    }
    guard missing.isEmpty else { return .failed }
    try console.print(["products": [DeliveredProduct]()]) {
      console.print("Everything is up to date.")
    }
    return arguments.has("--require-update") ? .nothingToDo : .done
  }
}

extension ContentError {
  static func notInstalled(_ text: String, among installed: some Collection<ProductIdentifier>)
    -> ContentError
  {
    ContentError(
      .notInstalled, "\(text) is not installed",
      remedy: Suggestion.question(text, among: Set(installed.map(\.rawValue)).sorted())
        + "Check the name, or install it first",
      subject: text)
  }
}

enum RestoreCommand {
  static let command = Command(
    name: "restore", summary: "Restores the account's purchases. With --download, installs them.",
    options: InstallSession.options + [
      .init("--download", nil, "download and install the restored products"), .json,
    ],
    example: "hostedcontent restore --store store --library lib2 --ledger ledger.sqlite --download"
  ) { arguments, console in
    let session = try InstallSession(arguments, console)
    defer { session.close() }
    let (done, left) = try await session.restore(installing: arguments.has("--download"))
    try print(done, isAll: left.isEmpty, arguments, console)
    session.reportAbort(before: left)
    return left.isEmpty ? .done : .failed
  }

  private struct Purchase: Encodable {
    let productIdentifier: ProductIdentifier
    let originalTransactionIdentifier: String
    let contents: [String]
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
