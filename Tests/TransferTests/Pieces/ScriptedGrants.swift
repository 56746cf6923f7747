import HostedConcurrency
import HostedModel
import HostedTransfer
import FoundationEssentials
import HostedTestSupport

/// Calls a closure with the number of the call.
final class CountingAuthorizer: ContentAuthorizer {
  private let count = Atomic(0)
  private let answer: @Sendable (Int) async throws -> AuthorizedURLs

  init(_ answer: @escaping @Sendable (Int) async throws -> AuthorizedURLs) {
    self.answer = answer
  }

  var calls: Int { count.load(ordering: .relaxed) }

  func authorize() async throws -> AuthorizedURLs {
    try await answer(count.add(1, ordering: .relaxed).newValue)
  }
}

/// Secrets that are each valid for a number of requests.
final class Generations: Sendable {
  private let length: Int
  private let state = Mutex((number: 1, admitted: 0))

  init(length: Int) { self.length = length }

  /// The number of the valid secret, from 1.
  var number: Int { state.withLock { $0.number } }

  var secret: String { "secret-\(number)" }

  /// Whether the request has the valid secret, which then is used once.
  func admits(_ request: ScriptedServer.Request) -> Bool {
    state.withLock { state in
      guard request.path.hasSuffix("grant=secret-\(state.number)") else { return false }
      state.admitted += 1
      if state.admitted.isMultiple(of: length) { state.number += 1 }
      return true
    }
  }
}
