/// The positions of the seller's events that are being handled, in their order; pure.
///
/// Events end in any order. A position counts once its event and all before it have ended, so that
/// a start after a crash gets every event that was not handled.
struct EventCursors: Sendable {
  private var entries: ArraySlice<(cursor: String, hasEnded: Bool)> = []
  /// The number of the first entry.
  private var first = 0

  /// Notes an event; returns its number.
  mutating func begin(_ cursor: String) -> Int {
    entries.append((cursor, false))
    return first + entries.count - 1
  }

  /// Notes that an event has ended; returns the newest position that counts now, nil for no change.
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
