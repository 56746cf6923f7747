import ContentModel

/// A reason why a package cannot be read further, as opposed to an error of its source.
///
/// Examination turns it into a finding, and unpacking into an error.
struct Refusal: Error {
  let finding: Finding
  /// The message of libarchive.
  let cause: String?

  init(_ finding: Finding, cause: String? = nil) {
    self.finding = finding
    self.cause = cause
  }

  /// The archive is truncated or inconsistent.
  static func damaged(_ message: String, path: String? = nil, cause: String? = nil) -> Refusal {
    Refusal(
      Finding(
        path: path, rule: "archive-damaged", message: message,
        remedy: "Fetch or build the package again", code: .archiveDamaged), cause: cause)
  }

  /// The entry at `path` breaks a rule.
  static func entry(_ rule: String, _ message: String, path: String) -> Refusal {
    Refusal(PathRules.finding(rule, message, path: path))
  }

  /// The form of the bytes is not supported.
  static func form(_ rule: String, _ message: String, remedy: String) -> Refusal {
    Refusal(Finding(path: nil, rule: rule, message: message, remedy: remedy, code: .formUnknown))
  }

  /// A limit is exceeded.
  static func limit(_ rule: String, _ message: String, path: String? = nil) -> Refusal {
    Refusal(
      Finding(
        path: path, rule: rule, message: message,
        remedy: "Reduce it, or split the content into several products",
        code: .limitExceeded))
  }

  /// Returns the error that refuses the package `name`.
  func error(in name: String) -> ContentError { finding.error(in: name, cause: cause) }

  /// The finding with libarchive's message, since a finding has no cause.
  var wordedFinding: Finding {
    guard let cause else { return finding }
    return Finding(
      path: finding.path, rule: finding.rule, message: "\(finding.message) (\(cause))",
      remedy: finding.remedy, code: finding.code)
  }
}
