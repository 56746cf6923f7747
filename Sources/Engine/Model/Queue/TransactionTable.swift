/// Unfinished transactions by identifier, efficient for large numbers.
///
/// Copies share unchanged parts. The engine keeps the state before an event until the journal has
/// the state after it, and must not copy the whole table for that.
struct TransactionTable: Hashable, Sendable {
  /// Small dictionaries; a change copies only one of them.
  private var shards = [[String: TransactionRecord]](repeating: [:], count: Self.shardCount)

  private static let shardCount = 512

  subscript(id: String) -> TransactionRecord? {
    get { shards[Self.shard(of: id)][id] }
    set { shards[Self.shard(of: id)][id] = newValue }
  }

  /// All transactions, in the queue's order.
  var ordered: [TransactionRecord] {
    shards.joined().map { (sequence: $0.value.sequence, record: $0.value) }
      .sorted { $0.sequence < $1.sequence }.map(\.record)
  }

  private static func shard(of id: String) -> Int {
    Int(UInt(bitPattern: id.hashValue) % UInt(shardCount))
  }
}
