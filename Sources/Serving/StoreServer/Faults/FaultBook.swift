import Concurrency

/// The rules in force and how often each has met each path; used by all connections at once.
final class FaultBook: Sendable {
  private let state: Mutex<State>

  private struct State {
    var rules: [FaultRule]
    var counts: [Key: Int] = [:]

    struct Key: Hashable {
      let rule: Int
      let path: String
    }
  }

  /// A rule that acts on a request.
  struct Occurrence: Sendable {
    let fault: Fault
    /// The how-manieth time for this path, from 1.
    let number: Int
    /// The rule's line.
    let text: String
  }

  /// Paths come from clients, so what is remembered of them is bounded; all further ones are one.
  private static let mostCounts = 100_000

  init(_ script: FaultScript) { state = Mutex(State(rules: script.rules)) }

  /// Puts other rules in force, with all counts at zero.
  func set(_ script: FaultScript) { state.withLock { $0 = State(rules: script.rules) } }

  /// The rules that act on `request`, in the order of the script; counts it.
  func occurrences(for request: ServerRequest) -> [Occurrence] {
    occurrences(path: request.path) { rule in
      if case .connection = rule.fault { return false }
      return rule.matches(request)
    }
  }

  /// What is to become of a connection that has just been made; the last rule wins.
  func connectionFault() -> ConnectionFault? {
    let found = occurrences(path: "") { rule in
      if case .connection = rule.fault { return true }
      return false
    }
    guard let last = found.last, case .connection(let fault) = last.fault else { return nil }
    return fault
  }

  private func occurrences(path: String, _ matches: (FaultRule) -> Bool) -> [Occurrence] {
    state.withLock { state in
      var found: [Occurrence] = []
      for (index, rule) in state.rules.enumerated() where matches(rule) {
        var key = State.Key(rule: index, path: path)
        if state.counts[key] == nil, state.counts.count >= Self.mostCounts {
          key = State.Key(rule: index, path: "*")
        }
        let number = state.counts[key, default: 0] + 1
        state.counts[key] = number
        if let occurrence = rule.schedule.occurrence(at: number) {
          found.append(Occurrence(fault: rule.fault, number: occurrence, text: rule.text))
        }
      }
      return found
    }
  }
}
