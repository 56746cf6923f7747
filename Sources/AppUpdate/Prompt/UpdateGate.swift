public import FoundationEssentials
import HostedConcurrency

/// Guards core operations: refuses the next operation if an update is forced.
///
/// Only its checker opens and closes it. Operations that have entered continue normally.
/// Thread-safe.
public final class UpdateGate: Sendable {
  private let requirement = Mutex<UpdateDecision?>(nil)

  /// Creates a gate without a checker, for example for a test; it stays open.
  public init() {}

  /// The decision that closed the gate; nil while it is open.
  public var closedBy: UpdateDecision? { requirement.withLock { $0 } }

  /// Returns if the gate is open, and throws `UpdateRequired`, with a link, if it is closed.
  ///
  /// `operation` is a name such as "send order". If the gate closes later, an entry that returned
  /// remains valid.
  public func enter(_ operation: String) throws(UpdateRequired) {
    guard let decision = closedBy else { return }
    throw UpdateRequired(operation: operation, decision: decision)
  }

  /// Enters the gate, then runs `body` and returns its result.
  ///
  /// Throws `UpdateRequired` if the gate is closed, and the errors of `body`. A gate that closes in
  /// the meantime does not affect `body`.
  public func perform<Value: Sendable>(
    _ operation: String, _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    try enter(operation)
    return try await body()
  }

  /// Closes the gate for the next operations.
  func close(_ decision: UpdateDecision) { requirement.withLock { $0 = decision } }

  /// Opens the gate.
  func open() { requirement.withLock { $0 = nil } }
}

/// An operation was refused because the app must be updated.
public struct UpdateRequired: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// The refused operation.
  public let operation: String
  /// The reason and the offer.
  public let decision: UpdateDecision

  /// The link to the update; nil if neither server nor configuration has one.
  public var downloadURL: URL? { decision.downloadURL }

  /// The error as a `ContentError` with the code `updateRequired`.
  public var contentError: ContentError {
    let place = downloadURL.map { " from \($0.absoluteString)" } ?? ""
    return ContentError(
      .updateRequired, "Cannot run “\(operation)”: this version of the app must be updated first",
      remedy: "Update the app\(place) and try again", subject: operation)
  }

  /// The message.
  public var errorDescription: String? { contentError.errorDescription }

  /// The remedy.
  public var recoverySuggestion: String? { contentError.recoverySuggestion }

  /// Message, remedy and code in one line.
  public var description: String { contentError.description }
}
