/// The unfinished transactions, with indexes so that events do not scan all of them.
struct QueueRecords: Hashable, Sendable {
  private var table = TransactionTable()
  /// Requested downloads that wait for a free worker.
  private(set) var line = WaitingLine()
  /// Transactions by the seller's number, if it differs from their identifier.
  private var purchases: [String: Set<String>] = [:]

  /// All transactions in order; sorted at each call, so not for use in every event.
  var ordered: [TransactionRecord] { table.ordered }

  subscript(id: String) -> TransactionRecord? { table[id] }

  func place(ofDownload id: String) -> DownloadPlace? {
    guard let transaction = DownloadRecord.transaction(ofDownload: id),
      let record = table[transaction],
      let position = record.downloads.firstIndex(where: { $0.id == id })
    else { return nil }
    return DownloadPlace(record: record, position: position)
  }

  /// Returns waiting downloads that become finished together with `download`.
  ///
  /// The last come first, because removing from the end of the line is cheap.
  func waiting(like download: DownloadRecord) -> [DownloadPlace] {
    line.places(of: download.offer.contentIdentifier).reversed()
      .filter { $0.download.installsSame(as: download) }
  }

  /// Returns the first transaction that delivers `grant`: its own, or a restored one.
  func holder(of grant: Grant) -> TransactionRecord? {
    let number = grant.transactionIdentifier
    let wanted = grant.withoutReceipt
    return (purchases[number] ?? []).union([number]).compactMap { table[$0] }
      .filter { $0.purchase?.withoutReceipt == wanted }
      .min { $0.sequence < $1.sequence }
  }

  /// Stores `record`, and updates the indexes; only `store` and `drop` change them.
  mutating func store(_ record: TransactionRecord) {
    unlist(table[record.id])
    table[record.id] = record
    if let number = record.purchaseNumber {
      purchases[number, default: []].insert(record.id)
    }
    for place in record.places where place.download.isRequested { line.insert(place) }
  }

  mutating func drop(_ id: String) -> TransactionRecord? {
    let record = table[id]
    unlist(record)
    table[id] = nil
    return record
  }

  /// Changes the download at `place`, whose record may have changed since.
  mutating func change(_ place: DownloadPlace, _ body: (inout DownloadRecord) -> Void) {
    guard var record = table[place.record.id] else { return }
    body(&record.downloads[place.position])
    store(record)
  }

  private mutating func unlist(_ record: TransactionRecord?) {
    guard let record else { return }
    for place in record.places where place.download.isRequested { line.remove(place) }
    if let number = record.purchaseNumber {
      purchases[number]?.remove(record.id)
      if purchases[number]?.isEmpty == true { purchases[number] = nil }
    }
  }
}

extension TransactionRecord {
  /// The places of its downloads.
  var places: [DownloadPlace] {
    downloads.indices.map { DownloadPlace(record: self, position: $0) }
  }

  /// Whether a restore created it, and not an update, which sets `keepsCurrent`.
  package var isOfHistory: Bool {
    state == .restored && downloads.allSatisfy { $0.keepsCurrent == nil }
  }

  /// The purchase that it delivers; nil before it is granted.
  fileprivate var purchase: Grant? { isOfHistory ? original : grant }

  /// The seller's number of the purchase, if it differs from the identifier.
  fileprivate var purchaseNumber: String? {
    purchase.flatMap { $0.transactionIdentifier == id ? nil : $0.transactionIdentifier }
  }
}

extension DownloadRecord {
  /// Returns whether it installs the same version of the same content in the same way.
  fileprivate func installsSame(as other: DownloadRecord) -> Bool {
    offer.problem == nil && offer.version.rawValue == other.offer.version.rawValue
      && offer.withdrawnVersions == other.offer.withdrawnVersions
      && offer.productIdentifier == other.offer.productIdentifier
      && (keepsCurrent == true) == (other.keepsCurrent == true)
  }
}
