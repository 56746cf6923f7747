/// The unfinished transactions, with indexes so that events do not scan all of them.
struct QueueRecords: Hashable, Sendable {
  private var table = TransactionTable()
  /// Requested downloads that wait for a free worker.
  private(set) var line = WaitingLine()
  /// Transactions by the seller's number, if it differs from their identifier.
  private var purchases: [String: Set<TransactionID>] = [:]

  /// All transactions in order; sorted at each call, so not for use in every event.
  var ordered: [TransactionRecord] { table.ordered }

  subscript(id: TransactionID) -> TransactionRecord? { table[id] }

  func place(ofDownload id: DownloadID) -> DownloadPlace? {
    guard let record = table[id.transaction],
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
    return (purchases[number] ?? []).union([TransactionID(rawValue: number)]).compactMap {
      table[$0]
    }
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

  mutating func drop(_ id: TransactionID) -> TransactionRecord? {
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
    purchase.flatMap { $0.transactionIdentifier == id.rawValue ? nil : $0.transactionIdentifier }
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

/// A download in the queue, as it was when it was looked up.
///
/// Places of equal rank in the line are equal.
struct DownloadPlace: Hashable, Sendable {
  let record: TransactionRecord
  /// The position in its transaction.
  let position: Int

  var download: DownloadRecord { record.downloads[position] }

  var content: ProductIdentifier { download.offer.contentIdentifier }

  /// The sort key in the line.
  fileprivate var rank: (Int32, Int, Int) { (-download.priority, record.sequence, position) }

  static func == (left: Self, right: Self) -> Bool { left.rank == right.rank }

  func hash(into hasher: inout Hasher) {
    hasher.combine(record.sequence)
    hasher.combine(position)
  }
}

/// Requested downloads that wait for a free worker, by priority, then in the queue's order.
struct WaitingLine: Hashable, Sendable {
  /// A slice, because most are removed from its start, which then moves no others.
  private(set) var places: ArraySlice<DownloadPlace> = []
  /// The number of waiting downloads of each content.
  private var counts: [ProductIdentifier: Int] = [:]

  mutating func insert(_ place: DownloadPlace) {
    let index = index(of: place)
    if index < places.endIndex, places[index] == place { return }
    places.insert(place, at: index)
    counts[place.content, default: 0] += 1
  }

  mutating func remove(_ place: DownloadPlace) {
    let index = index(of: place)
    guard index < places.endIndex, places[index] == place else { return }
    let content = places[index].content
    if index == places.startIndex { places.removeFirst() } else { places.remove(at: index) }
    // Frees the records before the start.
    if places.startIndex > places.count { places = ArraySlice(Array(places)) }
    let count = (counts[content] ?? 0) - 1
    counts[content] = count > 0 ? count : nil
  }

  /// Returns the places of a content, in order.
  func places(of content: ProductIdentifier) -> [DownloadPlace] {
    counts[content] == nil ? [] : places.filter { $0.content == content }
  }

  /// Returns the number of waiting contents that are not `busy`.
  func contentCount(besides busy: Set<ProductIdentifier>) -> Int {
    counts.count - busy.count { counts[$0] != nil }
  }

  /// Returns the index of `place`, or where to insert it.
  private func index(of place: DownloadPlace) -> Int {
    places.partitionPoint { $0.rank < place.rank }
  }
}

/// Unfinished transactions by identifier, efficient for large numbers.
///
/// Copies share unchanged parts. The engine keeps the state before an event until the journal has
/// the state after it, and must not copy the whole table for that.
private struct TransactionTable: Hashable, Sendable {
  /// Small dictionaries; a change copies only one of them.
  private var shards = [[TransactionID: TransactionRecord]](repeating: [:], count: Self.shardCount)

  private static let shardCount = 512

  subscript(id: TransactionID) -> TransactionRecord? {
    get { shards[Self.shard(of: id)][id] }
    set { shards[Self.shard(of: id)][id] = newValue }
  }

  /// All transactions, in the queue's order.
  var ordered: [TransactionRecord] {
    shards.joined().map { (sequence: $0.value.sequence, record: $0.value) }
      .sorted { $0.sequence < $1.sequence }.map(\.record)
  }

  private static func shard(of id: TransactionID) -> Int {
    Int(UInt(bitPattern: id.hashValue) % UInt(shardCount))
  }
}
