import FoundationEssentials
import HostedModel
import HostedPostgresLedger
import HostedStoreServer
import HostedShop

enum LedgerArguments {
  static let data = Command.Option("--data", "FOLDER", "the server's data folder")
  static let database = Command.Option(
    "--database", "URL", "the ledger in PostgreSQL 15, such as postgresql:///store")
}

extension Arguments {
  func database() throws -> PostgresLedger? {
    try text("--database").map { try PostgresLedger(url: $0) }
  }

  /// The ledger of `--database`, or else of `--data`.
  ///
  /// `creating` also creates the receipt key of a data folder.
  func ledger(creating: Bool) throws -> Ledger {
    let folder = try text("--data").map { try StoreServerFolder($0, creating: creating) }
    let ledger: Ledger
    if let database = try database() {
      ledger = Ledger(database)
    } else if let folder {
      ledger = Ledger(try folder.ledgerDatabase())
    } else {
      throw wrong("--data or --database is missing")
    }
    if creating { _ = try folder?.receiptKey(of: ledger, at: Date()) }
    return ledger
  }
}
