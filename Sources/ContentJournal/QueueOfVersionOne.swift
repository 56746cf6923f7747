import ContentModel
import FoundationEssentials

/// The queue as the journal's first version kept it: a transaction is one JSON text.
struct QueueOfVersionOne {
  private let transactions: [Transaction]

  fileprivate struct Transaction: Decodable {
    let id: String
    let sequence: Int
    let payment: Payment
    let state: TransactionState
    let grant: Grant?
    let original: Grant?
    let error: ContentError?
    let downloads: [Download]
  }

  fileprivate struct Download: Decodable {
    let offer: ContentOffer
    let state: DownloadState
    let isRequested: Bool
    let error: ContentError?
  }

  /// Whether the journal has it; one that a crash kept from becoming a later version does not.
  static func isIn(_ connection: borrowing SQLiteConnection) throws -> Bool {
    var isThere = false
    try connection.query(
      "SELECT 1 FROM pragma_table_info('queue_transaction') WHERE name = 'record'"
    ) { _ in isThere = true }
    return isThere
  }

  /// Reads all of it; throws `journalFailed` for a text that is no transaction.
  init(reading connection: borrowing SQLiteConnection) throws {
    var found: [Transaction] = []
    let decoder = JSONDecoder()
    try connection.query("SELECT id, record FROM queue_transaction ORDER BY sequence") { row in
      do {
        found.append(try decoder.decode(Transaction.self, from: Data(row.blob(1))))
      } catch {
        throw ContentError.unreadableRecord(of: "transaction \(row.text(0))", "\(error)")
      }
    }
    transactions = found
  }

  /// Writes it as it is kept now.
  func write(to connection: borrowing SQLiteConnection) throws {
    var writer = QueueRowWriter(knownRow: { _ in nil })
    for transaction in transactions { try writer.save(transaction.record, connection) }
  }
}

extension QueueOfVersionOne.Transaction {
  fileprivate var record: TransactionRecord {
    TransactionRecord(
      id: id, sequence: sequence, payment: payment, state: state, grant: grant, original: original,
      error: error,
      downloads: downloads.enumerated().map { position, download in
        DownloadRecord(
          of: id, number: position + 1, sharing: Shared(download.offer), state: download.state,
          isRequested: download.isRequested, error: download.error)
      })
  }
}
