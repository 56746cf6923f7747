/// A problem that a check has found: what it concerns, what is wrong, and what to do.
///
/// All checks of packages and stores share this type. Code that cannot continue after a problem
/// throws it. Members that do not apply are nil, and are not encoded.
public struct Finding: Error, Hashable, Codable, Sendable {
  /// What a finding about a hosted store means for clients.
  package enum Severity: String, Codable, CaseIterable, Sendable {
    /// Clients fail, or secrets are published.
    case error
    /// Clients succeed, but slowly, or a cache can make them fail.
    case warning
    /// Nothing fails.
    case note
  }

  /// What was checked, such as the path of a package; nil if there is only one.
  public let subject: String?
  /// The product.
  public let productIdentifier: ProductIdentifier?
  /// The content.
  public let contentIdentifier: ProductIdentifier?
  /// The version of the content.
  public let version: ContentVersion?
  /// The path of the file or of the entry, safe for messages; nil for all of what was checked.
  public let path: String?
  /// The stable name of the rule or of the problem, such as `path-parent` or `missing`.
  ///
  /// Nil if no rule is broken, such as for a file that cannot be read.
  public let rule: String?
  /// The problem, as one sentence or its end, without the subject and a final period.
  public let message: String
  /// What to do, without a final period.
  public package(set) var remedy: String
  /// The code of an error with only this finding.
  public let code: ContentError.Code
  /// The unchanged message of the operating system or a library, if any.
  public let cause: String?
  /// Nil for a finding that is not about a hosted store.
  package var severity: Severity?
  /// How many other paths have the same finding; nil for none.
  package var others: Int?

  /// Creates a finding; `message` and `remedy` are without a final period.
  public init(
    subject: String? = nil, product: ProductIdentifier? = nil, content: ProductIdentifier? = nil,
    version: ContentVersion? = nil, path: String?, rule: String?, message: String, remedy: String,
    code: ContentError.Code, cause: String? = nil
  ) {
    self.subject = subject
    productIdentifier = product
    contentIdentifier = content
    self.version = version
    self.path = path
    self.rule = rule
    self.message = message
    self.remedy = remedy
    self.code = code
    self.cause = cause
  }

  package func about(_ subject: String) -> Finding {
    Finding(
      subject: subject, product: productIdentifier, content: contentIdentifier, version: version,
      path: path, rule: rule, message: message, remedy: remedy, code: code, cause: cause)
  }

  /// Returns the error that refuses `name` because of this finding.
  package func error(in name: String) -> ContentError {
    ContentError(code, "\(name): \(message)", remedy: remedy, subject: name, cause: cause)
  }
}
