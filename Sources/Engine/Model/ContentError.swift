public import FoundationEssentials

/// An error: what failed, on what, why, and what to do.
///
/// All modules share this type, because a download's error is journaled and shown again after a
/// restart. So it is codable, and its numbers are stable across versions. Each module defines its
/// own factories next to the code that throws them.
public struct ContentError: Error, Codable, Hashable, Sendable {
  /// The stable number of the error; its hundreds are the group.
  public let code: Code
  /// What failed, on what, and what was expected and found; one sentence.
  public let message: String
  /// What to do next; one sentence.
  public let remedy: String
  /// The product, content, file or process of the error, if any.
  public let subject: String?
  /// The unchanged message of the operating system or a C library, if any.
  public let cause: String?

  /// Creates an error; `message` and `remedy` are sentences without a final period.
  public init(
    _ code: Code, _ message: String, remedy: String, subject: String? = nil, cause: String? = nil
  ) {
    self.code = code
    self.message = message
    self.remedy = remedy
    self.subject = subject
    self.cause = cause
  }

  /// The number of an error, grouped by hundreds; its meaning never changes.
  public struct Code: RawRepresentable, Codable, Hashable, Sendable {
    /// The number, as journaled and shown.
    public let rawValue: Int

    /// Creates a code from a number, even an unknown one.
    public init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// Groups of errors by where they can be solved.
  public enum Group: String, Codable, Sendable {
    case network, server, file, diskSpace, trust, package, entitlement, user, `internal`
  }

  /// The group of the code.
  public var group: Group { code.group }

  /// Whether the same action can succeed later without any change.
  public var isRetryable: Bool { code.isRetryable }
}

extension ContentError: LocalizedError, CustomStringConvertible {
  /// The message, followed by the cause if any.
  public var errorDescription: String? { cause.map { "\(message): \($0)" } ?? message }

  /// The remedy.
  public var recoverySuggestion: String? { remedy }

  /// The message, cause, remedy and number in one line that is safe to print and to log.
  ///
  /// Control characters and invisible characters are replaced; `message` and `cause` may contain
  /// them.
  public var description: String {
    "\(errorDescription ?? message). \(remedy). [\(code.rawValue)]".printable(limit: .max)
  }

  /// Returns a `ContentError` unchanged, and wraps any other error as an internal one.
  public init(_ error: any Error, while action: String) {
    if let known = error as? ContentError {
      self = known
    } else {
      self.init(
        .inconsistent, "Unexpected failure while \(action)",
        remedy: "Report this bug with the full error text",
        cause: "\(error)")
    }
  }

  /// Returns the error with `subject`, unless it already has one.
  package func about(_ subject: String) -> ContentError {
    self.subject == nil
      ? ContentError(code, message, remedy: remedy, subject: subject, cause: cause) : self
  }

  /// Returns the error with the name of a product.
  ///
  /// A message about a file or a server would not identify the product.
  package func naming(_ product: ProductIdentifier) -> ContentError {
    let isNamed = description.contains(product.rawValue)
    return ContentError(
      code, isNamed ? message : "\(product): \(message)", remedy: remedy,
      subject: product.rawValue, cause: cause)
  }

  /// Returns the error for a state that only a defect of this library causes.
  package static func defect(_ message: String, subject: String? = nil) -> ContentError {
    ContentError(
      .inconsistent, message, remedy: "Report this message as a bug", subject: subject)
  }

  /// Returns the error for a C library that cannot allocate memory.
  package static func outOfMemory(_ library: String) -> ContentError {
    ContentError(
      .outOfMemory, "\(library) cannot allocate memory",
      remedy: "Free memory or raise the process's limit, then try again")
  }
}

/// Returns the result of `body`; nil if it throws an error with one of `codes`.
package func nilIf<Value>(
  _ codes: ContentError.Code..., body: () throws -> Value?
) throws -> Value? {
  do {
    return try body()
  } catch let error as ContentError where codes.contains(error.code) {
    return nil
  }
}
