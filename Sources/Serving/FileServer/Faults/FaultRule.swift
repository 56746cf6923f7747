import HostedHTTPValues

/// One line of a fault script: the requests that it matches, the fault, and how often it acts.
struct FaultRule: Hashable, Sendable {
  /// The line without its comment.
  let text: String
  let pattern: Glob
  var filter = Filter()
  let fault: Fault
  var schedule = Schedule()

  /// Conditions for a request besides its path.
  struct Filter: Hashable {
    var method: String?
    /// Whether it has a Range header.
    var hasRange: Bool?
  }

  /// The matching requests for one path on which the rule acts.
  struct Schedule: Hashable {
    /// The number of requests to skip first.
    var skipped = 0
    /// The number of requests to act on; nil is unlimited.
    var count: Int?

    /// Returns the number of the occurrence for matching request `number`, both from 1; nil if it
    /// does not act.
    func occurrence(at number: Int) -> Int? {
      let occurrence = number - skipped
      return occurrence >= 1 && occurrence <= count ?? .max ? occurrence : nil
    }
  }

  func matches(_ request: HTTPRequest) -> Bool {
    let hasRange = request.headers["range"] != nil
    return (filter.method ?? request.method) == request.method
      && (filter.hasRange ?? hasRange) == hasRange && pattern.matches(request.path)
  }
}

/// A path pattern: `*` matches any number of characters, including slashes; `?` matches one.
struct Glob: Hashable, Sendable {
  let text: String

  func matches(_ path: String) -> Bool {
    let (pattern, path) = (Array(text.unicodeScalars), Array(path.unicodeScalars))
    var (place, index) = (0, 0)
    // Where to continue if the text after the last star does not match.
    var retry: (place: Int, index: Int)?
    while index < path.count {
      if place < pattern.count, pattern[place] == "*" {
        retry = (place + 1, index)
        place += 1
      } else if place < pattern.count, pattern[place] == "?" || pattern[place] == path[index] {
        place += 1
        index += 1
      } else if let last = retry {
        retry = (last.place, last.index + 1)
        (place, index) = (last.place, last.index + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == "*" }
  }
}
