import HostedModel
import HostedPostgresLedger
import HostedStoreServer
import HostedLedger

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
  /// With a data folder, new purchases get receipts.
  func ledger(creating: Bool) throws -> Ledger {
    let database = try database()
    let folder = try text("--data").map { try StoreServerFolder($0, creating: creating) }
    let key = creating ? try folder?.receiptKey() : nil
    let signer = key.map { $0.signer() }
    if let database { return Ledger(database, sign: signer) }
    guard let folder else { throw wrong("--data or --database is missing") }
    return Ledger(try folder.ledgerDatabase(), sign: signer)
  }
}
