import ContentModel
import FileIO
import Locks

/// Lets one thread at a time decide what `current` of a content names; other contents go on.
final class ContentTurns: Sendable {
  /// Who waits for each content that somebody is at.
  private let waiting = Mutex<[ProductIdentifier: [any ThreadSignal]]>([:])
  private let makeSignal: MakeThreadSignal

  init(_ makeSignal: @escaping MakeThreadSignal) { self.makeSignal = makeSignal }

  /// Runs `body` while nobody else has the turn of `content`.
  func withTurn<Value>(of content: ProductIdentifier, _ body: () throws -> Value) rethrows -> Value
  {
    let call: (any ThreadSignal)? = waiting.withLock { waiting in
      guard waiting[content] != nil else {
        waiting[content] = []
        return nil
      }
      let call = makeSignal()
      waiting[content]?.append(call)
      return call
    }
    // Whoever ends a turn hands it on, so that it is never free for a third in between.
    call?.wait()
    defer { handOn(content) }
    return try body()
  }

  private func handOn(_ content: ProductIdentifier) {
    let next: (any ThreadSignal)? = waiting.withLock { waiting in
      guard let first = waiting[content]?.first else {
        waiting[content] = nil
        return nil
      }
      waiting[content]?.removeFirst()
      return first
    }
    next?.send()
  }
}
