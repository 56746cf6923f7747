import FoundationEssentials

/// Determines which cached answers may be used.
public enum LookupCachePolicy: String, Codable, Sendable, CaseIterable {
  /// Uses a cached answer until it expires.
  case useCache
  /// Sends a request. Caches between here and the server, such as a CDN, may answer it.
  case reload
  /// Sends a request with a URL and a header that bypass all caches.
  case reloadIgnoringAllCaches
}

/// A cache of recent answers; pure: `now` is a parameter.
struct LookupCache {
  /// The maximum number of answers; the one that expires first is removed first.
  let capacity: Int
  private var entries: [String: Entry] = [:]

  private struct Entry {
    let answer: LookupResults
    let stored: Date
    let ends: Date
  }

  init(capacity: Int) { self.capacity = max(0, capacity) }

  /// Returns the answer for `url` if it has not expired.
  func answer(for url: String, at now: Date) -> LookupResults? {
    guard let entry = entries[url], entry.stored <= now, now < entry.ends else { return nil }
    return entry.answer
  }

  /// Stores an answer for a number of seconds; 0 does not store it.
  mutating func store(_ answer: LookupResults, for url: String, seconds: Double, at now: Date) {
    entries[url] =
      seconds > 0 ? Entry(answer: answer, stored: now, ends: now + seconds) : nil
    if entries.count > capacity, let first = entries.min(by: { $0.value.ends < $1.value.ends }) {
      entries[first.key] = nil
    }
  }
}
