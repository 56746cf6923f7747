/// The validators of a representation, with which a client asks whether it has changed.
package struct Validators: Hashable, Sendable {
  /// An entity tag with quotes; nil for none.
  package var entityTag: String?
  /// The last modification in whole seconds since 1970; nil for none.
  package var modified: Int64?

  package init(entityTag: String?, modified: Int64?) {
    self.entityTag = entityTag
    self.modified = modified
  }
}

/// Evaluates the conditional headers of a request for a representation (RFC 9110, 13).
///
/// A condition with an obsolete date format is ignored, so that the response is complete.
package enum Conditions {
  /// The result for a request.
  package enum Verdict: Equatable {
    case proceed
    case notModified
    case failed
  }

  /// Evaluates the conditions in the order of RFC 9110, 13.2.2.
  package static func judge(_ headers: HTTPHeaders, _ validators: Validators) -> Verdict {
    if let tags = headers["if-match"] {
      guard matches(tags, validators.entityTag, weakly: false) else { return .failed }
    } else if let date = headers["if-unmodified-since"].flatMap(HTTPDate.exactSeconds),
      let modified = validators.modified, modified > date
    {
      return .failed
    }
    if let tags = headers["if-none-match"] {
      return matches(tags, validators.entityTag, weakly: true) ? .notModified : .proceed
    }
    if let date = headers["if-modified-since"].flatMap(HTTPDate.exactSeconds),
      let modified = validators.modified, modified <= date
    {
      return .notModified
    }
    return .proceed
  }

  /// Whether a range may be sent: without If-Range, or if its validator matches.
  ///
  /// A date is a strong validator only if the file cannot have changed again in the same second.
  package static func rangeHolds(
    _ headers: HTTPHeaders, _ validators: Validators, now: Int64 = HTTPDate.now
  ) -> Bool {
    guard let validator = headers["if-range"] else { return true }
    if validator.hasPrefix("\"") || validator.hasPrefix("W/") {
      return matches(validator, validators.entityTag, weakly: false)
    }
    guard let modified = validators.modified else { return false }
    return HTTPDate.exactSeconds(validator) == modified && modified < now
  }

  /// Whether a list of entity tags has `tag`; `weakly` also compares weak tags.
  package static func matches(_ header: String, _ tag: String?, weakly: Bool) -> Bool {
    // Tags of this server have no commas and no spaces.
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
