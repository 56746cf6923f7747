import ContentModel

/// Why reading a package cannot go on: its own fault, unlike what a source of bytes throws.
///
/// Examination turns it into a finding, unpacking into an error.
struct Refusal: Error {
  let finding: Finding
  /// libarchive's own words.
  let cause: String?

  init(_ finding: Finding, cause: String? = nil) {
    self.finding = finding
    self.cause = cause
  }

  /// The archive breaks off or contradicts itself.
  static func damaged(_ message: String, path: String? = nil, cause: String? = nil) -> Refusal {
    Refusal(
      Finding(
        path: path, rule: "archive-damaged", message: message,
        remedy: "Fetch or build the package again", code: .archiveDamaged), cause: cause)
  }

  /// The bytes are of a form that is not read.
  static func form(_ rule: String, _ message: String, remedy: String) -> Refusal {
    Refusal(Finding(path: nil, rule: rule, message: message, remedy: remedy, code: .formUnknown))
  }

  /// A limit is exceeded.
  static func limit(_ rule: String, _ message: String, path: String? = nil) -> Refusal {
    Refusal(
      Finding(
        path: path, rule: rule, message: message,
        remedy: "Shorten what is too long, or split the content into several products",
        code: .limitExceeded))
  }

  /// The error that refuses the package `name`.
  func error(in name: String) -> ContentError { finding.error(in: name, cause: cause) }

  /// The finding, with libarchive's words in its message, since findings have no cause of their
  /// own.
  var wordedFinding: Finding {
    guard let cause else { return finding }
    return Finding(
      path: finding.path, rule: finding.rule, message: "\(finding.message) (\(cause))",
      remedy: finding.remedy, code: finding.code)
  }
}
