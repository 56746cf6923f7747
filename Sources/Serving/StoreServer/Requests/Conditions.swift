import ContentTransfer

/// What the conditional headers of a request say about a representation (RFC 9110, 13).
///
/// A condition with a date of an obsolete form is ignored, so that the answer is a whole one.
enum Conditions {
  /// What becomes of a request for a representation.
  enum Verdict: Equatable {
    case proceed
    case notModified
    case failed
  }

  /// Judges in the order that RFC 9110, 13.2.2 gives.
  static func judge(_ request: ServerRequest, _ representation: Representation) -> Verdict {
    if let tags = request.header("if-match") {
      guard matches(tags, representation.entityTag, weakly: false) else { return .failed }
    } else if let date = request.header("if-unmodified-since").flatMap(HTTPDate.exactSeconds),
      let modified = representation.modified, modified > date
    {
      return .failed
    }
    if let tags = request.header("if-none-match") {
      return matches(tags, representation.entityTag, weakly: true) ? .notModified : .proceed
    }
    if let date = request.header("if-modified-since").flatMap(HTTPDate.exactSeconds),
      let modified = representation.modified, modified <= date
    {
      return .notModified
    }
    return .proceed
  }

  /// Whether the range may be sent: without If-Range, or when its validator still holds.
  ///
  /// A date is a strong validator only when the file cannot have changed again within its second.
  static func rangeHolds(
    _ request: ServerRequest, _ representation: Representation, now: Int64 = HTTPDate.now
  ) -> Bool {
    guard let validator = request.header("if-range") else { return true }
    if validator.hasPrefix("\"") || validator.hasPrefix("W/") {
      return matches(validator, representation.entityTag, weakly: false)
    }
    guard let modified = representation.modified else { return false }
    return HTTPDate.exactSeconds(validator) == modified && modified < now
  }

  private static func matches(_ header: String, _ tag: String?, weakly: Bool) -> Bool {
    // None of this server's tags has a comma in it.
    header.split(separator: ",").contains { candidate in
      let candidate = candidate.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
      if candidate == "*" { return true }
      guard let tag else { return false }
      return weakly
        ? opaque(candidate) == opaque(tag[...]) : candidate == tag[...] && !tag.hasPrefix("W/")
    }
  }

  private static func opaque(_ tag: Substring) -> Substring {
    tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
  }
}
