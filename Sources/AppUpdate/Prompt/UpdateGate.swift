public import FoundationEssentials
import Concurrency

/// Stands in front of core operations: refuses the next one once an update is forced.
///
/// What has entered goes on undisturbed and ends as it would. May be used from any thread.
public final class UpdateGate: Sendable {
  private let demand = Mutex<UpdateDecision?>(nil)

  /// Creates an open gate.
  public init() {}

  /// What keeps it closed; nil while it is open.
  public var closedBy: UpdateDecision? { demand.withLock { $0 } }

  /// Returns at once while the gate is open; throws `UpdateRequired`, which says where the update
  /// is, once it is closed.
  ///
  /// `operation` names what is about to begin, such as "send order". An entry that returned before
  /// the gate closed stays valid.
  public func enter(_ operation: String) async throws(UpdateRequired) {
    guard let decision = closedBy else { return }
    throw UpdateRequired(operation: operation, decision: decision)
  }

  /// Enters, then does `body`, which a gate that closes meanwhile does not disturb.
  public func perform<Value: Sendable>(
    _ operation: String, _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    try await enter(operation)
    return try await body()
  }

  /// Closes the gate, as a checker does when an update is forced.
  public func close(_ decision: UpdateDecision) { demand.withLock { $0 = decision } }

  /// Opens the gate.
  public func open() { demand.withLock { $0 = nil } }
}

/// An operation was refused, since the app must be updated first.
public struct UpdateRequired: Error, Hashable, Sendable {
  /// What was about to begin.
  public let operation: String
  /// Why, and what is offered.
  public let decision: UpdateDecision

  /// Where to get the update; nil where neither server nor configuration named a link.
  public var downloadURL: URL? { decision.downloadURL }

  /// The same as the error that all modules speak, with code `updateRequired`.
  public var contentError: ContentError {
    let place = downloadURL.map { " from \($0.absoluteString)" } ?? ""
    return ContentError(
      .updateRequired, "“\(operation)” is refused: this version of the app must be updated first",
      remedy: "Update the app\(place) and start again", subject: operation)
  }
}

extension UpdateRequired: LocalizedError, CustomStringConvertible {
  /// The message.
  public var errorDescription: String? { contentError.errorDescription }

  /// Where to update.
  public var recoverySuggestion: String? { contentError.recoverySuggestion }

  /// Message, remedy and number in one line.
  public var description: String { contentError.description }
}
