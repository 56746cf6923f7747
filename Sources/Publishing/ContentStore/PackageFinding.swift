public import ContentModel
import ContentPackage

/// A reason why `StoreFolder.publish` refuses a package.
public struct PackageFinding: Hashable, Codable, Sendable {
  /// The path of the package.
  public let path: String
  /// The path of the entry in the package, safe for messages; nil for the whole package.
  public let entry: String?
  /// The stable name of the broken rule, such as `path-parent`; nil for a package that is valid,
  /// but that this store cannot have, or that cannot be read.
  public let rule: String?
  /// The number of the error.
  public let code: ContentError.Code
  /// The problem, as one sentence without a final period.
  public let message: String
  /// What the package's author can do, as one sentence without a final period.
  public let remedy: String
  /// The unchanged message of the operating system or a C library, if any.
  public let cause: String?
  /// The error of a publication with only this finding.
  public let error: ContentError

  init(_ finding: Finding, in path: String) {
    self.path = path
    entry = finding.path
    rule = finding.rule
    code = finding.code
    message = finding.message
    remedy = finding.remedy
    cause = nil
    error = finding.error(in: path)
  }

  init(_ error: ContentError, in path: String) {
    self.path = path
    (entry, rule) = (nil, nil)
    let prefix = "\(path): "
    code = error.code
    message =
      error.message.hasPrefix(prefix)
      ? String(error.message.dropFirst(prefix.count)) : error.message
    remedy = error.remedy
    cause = error.cause
    self.error = error.about(path)
  }
}
