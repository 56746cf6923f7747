import HostedTestSupport

/// The samples of a long-lived process, in order.
struct UsageHistory {
  let name: String
  private(set) var samples: [Usage] = []

  init(_ name: String) { self.name = name }

  mutating func add(_ usage: Usage?) { if let usage { samples.append(usage) } }

  /// The allowed growth from the first to the last quarter: a share plus an amount.
  private struct Bound: Sendable {
    let what: String
    let part: Double
    let amount: Int
    let value: @Sendable (Usage) -> Int
  }

  private static let bounds = [
    Bound(what: "descriptors", part: 0, amount: 8) { $0.descriptors },
    Bound(what: "threads", part: 0, amount: 8) { $0.threads },
    Bound(what: "resident bytes", part: 0.1, amount: 2 << 20) { $0.resident },
    Bound(what: "bytes on disk", part: 0.5, amount: 8 << 20) { $0.disk },
  ]

  /// Returns the medians of the first and last quarter, and what grew beyond its limit.
  ///
  /// The first tenth is ignored, since it fills caches and libraries.
  func compare() -> (lines: [String], grown: [String]) {
    let settled = samples.dropFirst(samples.count / 10)
    let quarter = settled.count / 4
    guard quarter >= 2 else { return ([], ["\(name): only \(samples.count) samples"]) }
    var (lines, grown): ([String], [String]) = ([], [])
    for bound in Self.bounds {
      let values = settled.map(bound.value)
      let first = Self.median(values.prefix(quarter))
      let last = Self.median(values.suffix(quarter))
      let line = "\(name): \(bound.what) \(first) first, \(last) last, \(values.max() ?? 0) at most"
      lines.append(line)
      if Double(last) > Double(first) * (1 + bound.part) + Double(bound.amount) {
        grown.append("\(line): grown")
      }
    }
    return (lines, grown)
  }

  private static func median(_ values: some Collection<Int>) -> Int {
    values.sorted()[values.count / 2]
  }
}
