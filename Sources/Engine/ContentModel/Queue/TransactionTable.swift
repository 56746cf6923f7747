/// Unfinished transactions by identifier, efficient for large numbers.
///
/// Copies share unchanged parts. The engine keeps the state before an event until the journal has
/// the state after it, and must not copy the whole table for that.
struct TransactionTable: Hashable, Sendable {
  /// Small dictionaries; a change copies only one of them.
  private var shards: [[String: TransactionRecord]]
  private(set) var count = 0

  private static let shardCount = 512

  init() { shards = Array(repeating: [:], count: Self.shardCount) }

  subscript(id: String) -> TransactionRecord? {
    get { shards[Self.shard(of: id)][id] }
    set {
      let old: TransactionRecord?
      if let newValue {
        old = shards[Self.shard(of: id)].updateValue(newValue, forKey: id)
      } else {
        old = shards[Self.shard(of: id)].removeValue(forKey: id)
      }
      count += (newValue == nil ? 0 : 1) - (old == nil ? 0 : 1)
    }
  }

  /// All transactions, in the queue's order.
  var ordered: [TransactionRecord] {
    var records: [(sequence: Int, record: TransactionRecord)] = []
    records.reserveCapacity(count)
    for shard in shards {
      for record in shard.values { records.append((record.sequence, record)) }
    }
    records.sort { $0.sequence < $1.sequence }
    return records.map(\.record)
  }

  private static func shard(of id: String) -> Int {
    Int(UInt(bitPattern: id.hashValue) % UInt(shardCount))
  }
}

/// Requested downloads that wait for a free worker, by priority, then in the queue's order.
struct WaitingLine: Hashable, Sendable {
  /// A place in the line; places of equal rank are equal.
  struct Place: Hashable, Sendable {
    /// The transaction, as it is now.
    let record: TransactionRecord
    /// The position in its transaction.
    let position: Int

    var content: ProductIdentifier { record.downloads[position].offer.contentIdentifier }

    /// The sort key.
    fileprivate var rank: (Int32, Int, Int) {
      (-record.downloads[position].priority, record.sequence, position)
    }

    static func == (left: Self, right: Self) -> Bool { left.rank == right.rank }

    func hash(into hasher: inout Hasher) {
      hasher.combine(record.sequence)
      hasher.combine(position)
    }
  }

  private(set) var places: [Place] = []
  /// The number of waiting downloads of each content.
  private var counts: [ProductIdentifier: Int] = [:]

  mutating func insert(_ place: Place) {
    let index = index(of: place)
    if index < places.endIndex, places[index] == place { return }
    places.insert(place, at: index)
    counts[place.content, default: 0] += 1
  }

  mutating func remove(_ place: Place) {
    let index = index(of: place)
    guard index < places.endIndex, places[index] == place else { return }
    let content = places.remove(at: index).content
    let count = (counts[content] ?? 0) - 1
    counts[content] = count > 0 ? count : nil
  }

  /// Returns the places of a content, in order.
  func places(of content: ProductIdentifier) -> [Place] {
    counts[content] == nil ? [] : places.filter { $0.content == content }
  }

  /// Returns the number of waiting contents that are not `busy`.
  func contentCount(besides busy: Set<ProductIdentifier>) -> Int {
    counts.count - busy.count { counts[$0] != nil }
  }

  /// Returns the index of `place`, or where to insert it.
  private func index(of place: Place) -> Int {
    places.partitionPoint { $0.rank < place.rank }
  }
}
