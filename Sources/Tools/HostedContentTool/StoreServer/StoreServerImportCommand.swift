import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedStoreAPI
import HostedShop

enum StoreServerImportCommand {
  static let command = Command(
    name: "store-server import",
    summary: "Adds the purchases in a library's ledger to the server's. Safe to repeat.",
    options: [
      .init("--ledger", "FILE", "the library's ledger.sqlite", isRequired: true),
      LedgerArguments.data, LedgerArguments.database,
      .init(
        "--key", "KID", "the key that gets purchases without account; default: the only buyer"),
      .json,
    ],
    example: "hostedcontent store-server import --ledger library/ledger.sqlite --data data"
  ) { arguments, console in
    let place = try FilePlace(arguments.required("--ledger"))
    let folder = try place.folder()
    guard try folder.status(of: place.name) != nil else {
      throw ContentError(
        .fileMissing, "No ledger found at \(place.path)",
        remedy: "Give ledger.sqlite of a library, or the file of --ledger", subject: place.path)
    }
    let source = Ledger(try SQLiteLedger(place.name, in: folder))
    defer { source.close() }
    // Read first: if it is not a ledger of this version, nothing is created.
    let hasOwnPurchases = try source.hasOwnPurchases()
    let ledger = try arguments.ledger(creating: true)
    defer { ledger.close() }
    let account = try hasOwnPurchases ? ownAccount(ledger, arguments) : nil
    let summary = try ledger.addPurchases(of: source, ownAccount: account, at: Date())
    let report: [String: JSONValue] = [
      "imported": .integer(Int64(summary.imported)), "known": .integer(Int64(summary.known)),
      "conflicts": .array(summary.conflicts.map(JSONValue.string)),
    ]
    try console.print(report) {
      console.print("\(summary.imported) imported, \(summary.known) known before")
    }
    for transaction in summary.conflicts {
      console.report(
        ContentError(
          .transactionExists,
          "The server has another purchase with the transaction \(transaction)",
          remedy: "Compare both purchases. The server's purchase was not changed",
          subject: transaction))
    }
    return summary.conflicts.isEmpty ? .done : .failed
  }

  /// The account of the key of `--key`, or of the only usable key that may buy.
  private static func ownAccount(_ ledger: Ledger, _ arguments: Arguments) throws -> AccountID {
    if let kid = try arguments.text("--key") {
      guard let key = try ledger.key(kid) else {
        throw ContentError(
          .keyUnusable, "The key \(kid) does not exist",
          remedy: "List the keys with hostedcontent store-server key list", subject: kid)
      }
      return key.account
    }
    let buyers = try ledger.keys().filter {
      $0.isUsable(at: Date()) && $0.scopes.contains(.purchase)
    }
    let accounts = Set(buyers.map(\.account))
    guard accounts.count == 1, let account = accounts.first else {
      throw arguments.wrong(
        "--key is missing: the ledger has purchases by the library's own account, and the server "
          + "has \(accounts.isEmpty ? "no key" : "several keys") with the scope purchase")
    }
    return account
  }
}
