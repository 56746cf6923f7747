/// One line of a fault script: which requests it means, what it does to them, and how often.
struct FaultRule: Hashable, Sendable {
  /// The line as it was written, without its comment.
  let text: String
  let pattern: Glob
  var filter = Filter()
  let fault: Fault
  var schedule = Schedule()

  /// What a request must be besides its path.
  struct Filter: Hashable {
    var method: String?
    /// Whether it asks for a range.
    var hasRange: Bool?

    func matches(_ request: ServerRequest) -> Bool {
      (method ?? request.method) == request.method
        && (hasRange ?? (request.header("range") != nil)) == (request.header("range") != nil)
    }
  }

  /// When it acts, in matching requests for one path.
  struct Schedule: Hashable {
    /// How many it lets pass first.
    var skipped = 0
    /// How many it then acts on; nil for all.
    var count: Int?

    /// The how-manieth time it acts, from 1, at matching request `number`, from 1; nil for not.
    func occurrence(at number: Int) -> Int? {
      let occurrence = number - skipped
      return occurrence >= 1 && occurrence <= count ?? .max ? occurrence : nil
    }
  }

  func matches(_ request: ServerRequest) -> Bool {
    filter.matches(request) && pattern.matches(request.path)
  }
}

/// A pattern of paths: `*` stands for any run of characters, slashes included, `?` for one.
struct Glob: Hashable, Sendable {
  let text: String

  func matches(_ path: String) -> Bool {
    let (pattern, path) = (Array(text.unicodeScalars), Array(path.unicodeScalars))
    var (place, index) = (0, 0)
    // Where to go on when what follows the last star turns out not to fit.
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
