/// The running app: its version, and its operating system.
public struct InstalledApp: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The name for prompts.
  public var name: String
  /// The user-visible version.
  ///
  /// Only this version is compared.
  public var version: AppVersion
  /// The build number (`CFBundleVersion`), for reports.
  ///
  /// It is a string, so that it is never compared.
  public var build: String?
  /// The operating system's version, for an offer's `minimumOSVersion`; nil skips that check.
  public var systemVersion: AppVersion?

  /// Creates a description of the running app.
  public init(
    name: String, version: AppVersion, build: String? = nil, systemVersion: AppVersion? = nil
  ) {
    self.name = name
    self.version = version
    self.build = build
    self.systemVersion = systemVersion
  }

  /// The name and the version, such as `Bookshelf 1.2 (45)`.
  public var description: String { "\(name) \(version)" + (build.map { " (\($0))" } ?? "") }
}
