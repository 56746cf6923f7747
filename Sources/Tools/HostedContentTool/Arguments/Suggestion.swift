import HostedModel

enum Suggestion {
  /// Returns the most similar candidate; nil if none is similar enough.
  ///
  /// This is the only candidate with the prefix `word`, or the one with the fewest differences. The
  /// number of differences is limited by the length of `word`.
  static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
    let letters = Array(word.lowercased().unicodeScalars.prefix(maximumLength + 1))
    guard letters.count <= maximumLength else { return nil }
    let longer = candidates.filter { letters.count >= 3 && $0.hasPrefix(word) && $0 != word }
    if longer.count == 1 { return longer.first }
    var limit = min(3, letters.count / 3)
    var nearest: String?
    for candidate in candidates where candidate != word {
      let other = Array(candidate.lowercased().unicodeScalars)
      guard abs(other.count - letters.count) <= limit else { continue }
      let distance = distance(letters, other)
      // The first of equally similar candidates wins.
      guard nearest == nil ? distance <= limit : distance < limit else { continue }
      (nearest, limit) = (candidate, distance)
    }
    return nearest
  }

  /// The start of a remedy: the nearest candidate as a question, or an empty string.
  static func question(_ word: String, among candidates: some Sequence<String>) -> String {
    nearest(to: word, among: candidates).map { "Did you mean “\($0)”? " } ?? ""
  }

  /// Longer words are not compared, because the time is quadratic.
  private static let maximumLength = 200

  /// The number of insertions, deletions, replacements and swaps (optimal string alignment
  /// distance).
  private static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for (row, letter) in first.enumerated() {
      var current = [row + 1]
      for (column, other) in second.enumerated() {
        var cost = min(last[column + 1], current[column]) + 1
        cost = min(cost, last[column] + (letter == other ? 0 : 1))
        if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[second.count]
  }
}
