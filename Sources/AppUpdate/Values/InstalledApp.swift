/// The app that is running: what its version is compared with, and on what system.
public struct InstalledApp: Codable, Hashable, Sendable {
  /// What a person calls it, for prompts.
  public var name: String
  /// The version as people read it; the only one that is compared.
  public var version: AppVersion
  /// The build number (`CFBundleVersion`), for reports; a text of its own, so that nothing can
  /// compare it with a version.
  public var build: String?
  /// The operating system's version, for `minimumOsVersion`; nil asks nothing of it.
  public var systemVersion: AppVersion?

  /// Describes the running app.
  public init(
    name: String, version: AppVersion, build: String? = nil, systemVersion: AppVersion? = nil
  ) {
    self.name = name
    self.version = version
    self.build = build
    self.systemVersion = systemVersion
  }
}
