package import ContentModel

/// A broken rule: the rule, the entry, and what the package's author can do.
package struct Finding: Hashable, Codable, Sendable {
  /// The path of the entry, safe for messages, or nil for a finding about the whole package.
  package let path: String?
  /// The stable name of the rule, such as `path-parent`.
  package let rule: String
  /// The problem, as one sentence without a final period.
  package let message: String
  /// What the package's author can do, without a final period.
  package let remedy: String
  /// The code of the error if the package is refused.
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

  /// Returns the error that refuses the package `name` because of this finding.
  package func error(in name: String, cause: String? = nil) -> ContentError {
    ContentError(code, "\(name): \(message)", remedy: remedy, subject: name, cause: cause)
  }
}

extension ContentError {
  /// Returns one error that lists all packages with their findings and remedies.
  ///
  /// Returns nil for an empty list, and a single error unchanged. With several errors, the message
  /// starts with `summary`, and `remedy` applies to all of them.
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
