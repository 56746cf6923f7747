import HostedHTTPValues
import HostedConcurrency

/// The active rules, and how often each has matched each path; thread-safe.
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
    /// The number of the occurrence for this path, from 1.
    let number: Int
    /// The rule's line.
    let text: String
  }

  /// A limit for the remembered paths, which come from clients.
  ///
  /// Further paths share one counter.
  private static let maximumCounts = 100_000

  init(_ script: FaultScript) { state = Mutex(State(rules: script.rules)) }

  /// Replaces the rules and resets all counters.
  func set(_ script: FaultScript) { state.withLock { $0 = State(rules: script.rules) } }

  /// Counts `request` and returns the rules that act on it, in the order of the script.
  func occurrences(for request: HTTPRequest) -> [Occurrence] {
    occurrences(path: request.path) { !$0.fault.isOfConnection && $0.matches(request) }
  }

  /// Returns the fault for a new connection; the last matching rule wins.
  func connectionFault() -> ConnectionFault? {
    let found = occurrences(path: "") { $0.fault.isOfConnection }
    guard let last = found.last, case .connection(let fault) = last.fault else { return nil }
    return fault
  }

  private func occurrences(path: String, _ matches: (FaultRule) -> Bool) -> [Occurrence] {
    state.withLock { state in
      var found: [Occurrence] = []
      for (index, rule) in state.rules.enumerated() where matches(rule) {
        var key = State.Key(rule: index, path: path)
        if state.counts[key] == nil, state.counts.count >= Self.maximumCounts {
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
