/// The cursors of the seller's events in progress, in order; pure.
///
/// Events may end in any order. A cursor counts only after its event and all earlier events have
/// ended. So after a crash, every unhandled event is delivered again.
struct EventCursors: Sendable {
  private var entries: ArraySlice<(cursor: String, hasEnded: Bool)> = []
  /// The number of the first element of `entries`.
  private var first = 0

  /// Records an event and returns its number.
  mutating func begin(_ cursor: String) -> Int {
    entries.append((cursor, false))
    return first + entries.count - 1
  }

  /// Records the end of an event; returns the newest cursor that counts, nil if unchanged.
  mutating func end(_ number: Int) -> String? {
    let index = entries.startIndex + number - first
    guard entries.indices.contains(index) else { return nil }
    entries[index].hasEnded = true
    var newest: String?
    while let entry = entries.first, entry.hasEnded {
      newest = entry.cursor
      entries.removeFirst()
      first += 1
    }
    return newest
  }
}
