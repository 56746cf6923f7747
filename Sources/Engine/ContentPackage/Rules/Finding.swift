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
  /// One error that names every package with its findings and their remedies; nil for none.
  ///
  /// A single error is returned as it is. `summary` begins the message of several, and `remedy` is
  /// what to do about all of them.
  package static func combined(
    _ refusals: [(path: String, error: ContentError)], _ summary: String, remedy: String
  ) -> ContentError? {
    guard let first = refusals.first?.error, refusals.count > 1 else {
      return refusals.first?.error
    }
    var paths: [String] = []
    for refusal in refusals where !paths.contains(refusal.path) { paths.append(refusal.path) }
    let packages = paths.map { path in
      let prefix = "\(path): "
      let findings = refusals.filter { $0.path == path }.map { _, error in
        let message =
          error.message.hasPrefix(prefix)
          ? String(error.message.dropFirst(prefix.count)) : error.message
        let cause = error.cause.map { " (\($0))" } ?? ""
        return "\(message)\(cause). \(error.remedy)"
      }
      return prefix + findings.joined(separator: ". ")
    }
    return ContentError(
      first.code, "\(summary): " + packages.joined(separator: "; "), remedy: remedy,
      subject: first.subject)
  }
}
