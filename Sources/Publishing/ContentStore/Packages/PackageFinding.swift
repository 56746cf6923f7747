public import HostedModel
import HostedPackage

/// A reason why `StoreFolder.publish` refuses a package.
public struct PackageFinding: Hashable, Codable, Sendable {
  /// The path of the package.
  public let path: String
  /// The path of the entry in the package, safe for messages; nil for the whole package.
  public let entry: String?
  /// The stable name of the broken rule, such as `path-parent`; nil for a package that is valid,
  /// but that this store cannot have, or that cannot be read.
  public let rule: String?
  /// The problem, as one sentence without the package's path and a final period.
  public let message: String
  /// The error of a publication with only this finding; its remedy is for the package's author.
  public let error: ContentError

  init(_ finding: Finding, in path: String) {
    self.path = path
    entry = finding.path
    rule = finding.rule
    message = finding.message
    error = finding.error(in: path)
  }

  init(_ error: ContentError, in path: String) {
    self.path = path
    (entry, rule) = (nil, nil)
    let prefix = "\(path): "
    message =
      error.message.hasPrefix(prefix)
      ? String(error.message.dropFirst(prefix.count)) : error.message
    self.error = error.about(path)
  }
}
