package import HostedModel

/// The findings about packages.
///
/// Code that reads a package throws one where it cannot continue. Examination lists them, and
/// unpacking converts them to a `ContentError`. Errors of the package's source are other types.
extension Finding {
  /// The same finding with the cause in its message.
  var withoutCause: Finding {
    guard let cause else { return self }
    return Finding(
      path: path, rule: rule, message: "\(message) (\(cause))", remedy: remedy, code: code)
  }

  /// The archive is truncated or inconsistent.
  static func damaged(_ message: String, path: String? = nil, cause: String? = nil) -> Finding {
    Finding(
      path: path, rule: "archive-damaged", message: message,
      remedy: "Fetch or build the package again", code: .archiveDamaged, cause: cause)
  }

  static func entry(_ rule: String, _ message: String, path: String) -> Finding {
    Finding(
      path: path, rule: rule, message: message,
      remedy: "Rename or remove the entry and build the package again", code: .entryRefused)
  }

  static func format(_ rule: String, _ message: String, remedy: String) -> Finding {
    Finding(path: nil, rule: rule, message: message, remedy: remedy, code: .formatUnknown)
  }

  static func limit(_ rule: String, _ message: String, path: String? = nil) -> Finding {
    Finding(
      path: path, rule: rule, message: message,
      remedy: "Reduce it, or split the content into several products", code: .limitExceeded)
  }

  static func contentInfo(_ error: ContentError) -> Finding {
    Finding(
      path: ContentInfo.fileName, rule: "content-info", message: error.message,
      remedy: error.remedy, code: .contentInfoInvalid, cause: error.cause)
  }

  static var contentInfoMissing: Finding {
    Finding(
      path: nil, rule: "content-info-missing", message: "ContentInfo.plist not found",
      remedy: "Add ContentInfo.plist next to the folder Contents", code: .contentInfoInvalid)
  }
}

extension ContentError {
  /// Returns one error that lists all packages with their findings and remedies.
  ///
  /// Each refusal has a message without the path of its package. Returns nil for an empty list, and
  /// a single error unchanged. With several errors, the message starts with `summary`, and `remedy`
  /// applies to all of them.
  package static func combined(
    _ refusals: [(path: String, message: String, error: ContentError)], _ summary: String,
    remedy: String
  ) -> ContentError? {
    guard let first = refusals.first?.error, refusals.count > 1 else {
      return refusals.first?.error
    }
    var paths: [String] = []
    var findings: [String: [String]] = [:]
    for (path, message, error) in refusals {
      let cause = error.cause.map { " (\($0))" } ?? ""
      if findings[path] == nil { paths.append(path) }
      findings[path, default: []].append("\(message)\(cause). \(error.remedy)")
    }
    let packages = paths.map { "\($0): " + (findings[$0] ?? []).joined(separator: ". ") }
    return ContentError(
      first.code, "\(summary): " + packages.joined(separator: "; "), remedy: remedy,
      subject: first.subject)
  }
}
