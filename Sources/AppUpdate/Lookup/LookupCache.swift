import FoundationEssentials

/// Which answers that were fetched before may be used.
public enum LookupCachePolicy: String, Codable, Sendable, CaseIterable {
  /// An answer that was kept is used until its time is over.
  case useCache
  /// A request is made; caches on the way, such as those of a CDN, may answer it.
  case reload
  /// A request is made, with a URL and a header that pass the caches on the way by.
  case reloadIgnoringAllCaches
}

/// Answers that were fetched a short while ago.
///
/// Pure: `now` comes with each question.
struct LookupCache {
  /// The most answers that are kept; the one that ends first goes first.
  let capacity: Int
  private var entries: [String: Entry] = [:]

  private struct Entry {
    let answer: LookupAnswer
    let stored: Date
    let ends: Date
  }

  init(capacity: Int) { self.capacity = max(0, capacity) }

  /// The answer for `url` if its time is not over.
  func answer(for url: String, at now: Date) -> LookupAnswer? {
    guard let entry = entries[url], entry.stored <= now, now < entry.ends else { return nil }
    return entry.answer
  }

  /// Keeps an answer for so many seconds; 0 keeps nothing.
  mutating func store(_ answer: LookupAnswer, for url: String, seconds: Double, at now: Date) {
    guard seconds > 0, capacity > 0 else {
      entries[url] = nil
      return
    }
    entries[url] = Entry(answer: answer, stored: now, ends: now + seconds)
    if entries.count > capacity, let first = entries.min(by: { $0.value.ends < $1.value.ends }) {
      entries[first.key] = nil
    }
  }
}
