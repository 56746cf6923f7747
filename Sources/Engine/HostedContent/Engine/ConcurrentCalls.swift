/// Returns the values of `body` for `items`, in the same order; at most `limit` calls run at once.
package func concurrently<Item: Sendable, Value: Sendable>(
  _ items: [Item], limit: Int = .max, _ body: @escaping @Sendable (Item) async -> Value
) async -> [Value] {
  await withTaskGroup(of: (number: Int, value: Value).self) { group in
    var values: [Int: Value] = [:]
    for (number, item) in items.enumerated() {
      if number >= limit, let ended = await group.next() { values[ended.number] = ended.value }
      group.addTask { (number, await body(item)) }
    }
    for await ended in group { values[ended.number] = ended.value }
    return values.sorted { $0.key < $1.key }.map(\.value)
  }
}
