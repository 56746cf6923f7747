package import ContentModel

/// A broken rule: which one, where, and what its author can do.
package struct Finding: Hashable, Codable, Sendable {
  /// The entry's path as it may be shown; nil when the finding is about the whole package.
  package let path: String?
  /// The rule's stable name, such as `path-parent`.
  package let rule: String
  /// What was found; one sentence without a final period.
  package let message: String
  /// What the package's author can do; one sentence without a final period.
  package let remedy: String
  /// The error that it becomes when the package is refused.
  package let code: ContentError.Code

  /// Creates a finding.
  package init(
    path: String?, rule: String, message: String, remedy: String, code: ContentError.Code
  ) {
    self.path = path
    self.rule = rule
    self.message = message
    self.remedy = remedy
    self.code = code
  }

  /// The error that refuses the package `name` for this finding.
  package func error(in name: String, cause: String? = nil) -> ContentError {
    ContentError(code, "\(name): \(message)", remedy: remedy, subject: name, cause: cause)
  }
}

extension ContentError {
  /// One error that names all of `errors`, after `summary` if there are several; nil for none.
  package static func combined(_ errors: [ContentError], _ summary: String) -> ContentError? {
    guard let first = errors.first, errors.count > 1 else { return errors.first }
    let messages = errors.map { error in
      error.cause.map { "\(error.message) (\($0))" } ?? error.message
    }
    var remedies: [String] = []
    for error in errors where !remedies.contains(error.remedy) { remedies.append(error.remedy) }
    return ContentError(
      first.code, "\(summary): " + messages.joined(separator: "; "),
      remedy: remedies.joined(separator: "; "), subject: first.subject)
  }
}
