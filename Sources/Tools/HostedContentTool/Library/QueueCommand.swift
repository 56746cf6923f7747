import HostedContent

enum QueueCommand {
  static let command = Command(
    name: "queue", summary: "Lists unfinished transactions, their downloads, and why they wait.",
    options: [
      .library, .json, .init("--finished", nil, "list finished transactions instead"),
    ],
    example: "hostedcontent queue --library lib --json"
  ) { arguments, console in
    let library = try arguments.libraryReader()
    let showsFinished = arguments.has("--finished")
    let transactions =
      showsFinished
      ? try library.finishedTransactions().map {
        Transaction(id: $0.id, productIdentifier: $0.productIdentifier, state: "\($0.state)")
      } : try library.transactions().map(describe)
    try console.print(["transactions": transactions]) {
      if transactions.isEmpty {
        console.print(showsFinished ? "No finished transactions." : "No unfinished transactions.")
      } else {
        console.print(table: transactions.flatMap(rows), heading: ["product", "state", "why"])
      }
    }
    return .done
  }

  private struct Transaction: Encodable {
    let id: TransactionID
    let productIdentifier: ProductIdentifier
    let state: String
    var error: String?
    var downloads: [Download]?
  }

  private struct Download: Encodable {
    let id: DownloadID
    let contentIdentifier: ProductIdentifier
    let version: ContentVersion
    let state: String
    let bytes: Int64
    let reason: String
  }

  private static func rows(_ transaction: Transaction) -> [[String]] {
    let downloads = transaction.downloads ?? []
    return [[transaction.productIdentifier.rawValue, transaction.state, transaction.error ?? ""]]
      + downloads.map { ["  \($0.contentIdentifier) \($0.version)", $0.state, $0.reason] }
  }

  private static func describe(_ record: TransactionRecord) -> Transaction {
    Transaction(
      id: record.id, productIdentifier: record.payment.productIdentifier,
      state: "\(record.state)", error: record.error?.description,
      downloads: record.downloads.map { download in
        Download(
          id: download.id, contentIdentifier: download.offer.contentIdentifier,
          version: download.offer.version, state: "\(download.state)",
          bytes: download.offer.package.length, reason: reason(download))
      })
  }

  private static func reason(_ download: DownloadRecord) -> String {
    switch download.state {
    case .waiting: download.isRequested ? "waiting for its turn" : "not started"
    case .active: "in progress, or continues at the next start"
    case .paused: "paused"
    case .finished: "installed; the transaction is not finished"
    case .failed: download.error?.description ?? "failed"
    case .cancelled: "canceled"
    }
  }
}
