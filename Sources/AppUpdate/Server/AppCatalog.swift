package import FoundationEssentials

/// The apps of your own server, and its responses to lookups, searches and version queries.
///
/// Pure: a path and a query in, a response out. It is read from `apps.json`, which is described in
/// Documentation/AppUpdate.md.
public struct AppCatalog: Hashable, Sendable {
  /// An app, as described by its publisher.
  package struct App: Hashable, Sendable {
    /// The result of lookups.
    package let listing: AppListing
    /// The countries where it is sold; nil is everywhere.
    package let countries: [CountryCode]?
    /// Older versions must be updated; nil for no minimum.
    package let minimumVersion: AppVersion?
    /// Versions that must be updated, in addition to the minimum.
    package let blockedVersions: Set<AppVersion>
    /// Accounts that must always update to the newest version.
    package let forcedAccounts: Set<AccountID>
    /// The link to the update; nil uses the listing's page.
    package let downloadURL: URL?
  }

  /// The apps in the file's order.
  package let apps: [App]

  /// Reads a file of at most 16 MiB.
  ///
  /// Throws `storeDamaged` with file, line, app and field for an unknown name or a value of the
  /// wrong type. `source` names the file in the error.
  public init(json bytes: [UInt8], source: String = "apps.json") throws {
    do {
      let document = try JSONField(document: bytes, limit: 16 << 20, source: source)
      apps = try Self.apps(in: AppField(value: document, path: []))
    } catch let error as AppField.Problem {
      let line = JSONField.line(of: error.path, in: bytes) ?? 1
      throw Self.damaged(source, "line \(line): \(error.what)", cause: error.cause)
    } catch let error as ContentError {
      throw Self.damaged(source, "cannot be read", cause: error.cause ?? error.message)
    }
  }

  private static func apps(in document: AppField) throws -> [App] {
    try document.allowOnly(["apps"])
    guard let apps = try document["apps"]?.elements() else {
      throw document.problem("“apps” is missing: expected a list of apps")
    }
    return try apps.map(App.init)
  }

  private static func damaged(_ source: String, _ what: String, cause: String?) -> ContentError {
    ContentError(
      .storeDamaged, "\(source) \(what)", remedy: "Correct the file; Documentation/AppUpdate.md",
      subject: source, cause: cause)
  }
}

extension AppCatalog.App {
  fileprivate init(_ field: AppField) throws {
    try field.allowOnly([
      "listing", "countries", "minimumVersion", "blockedVersions", "forcedAccounts", "downloadUrl",
    ])
    guard let entry = field["listing"] else { throw field.problem("“listing” is missing") }
    listing = AppListing(fields: try entry.members())
    guard let newest = try entry["version"]?.version() else {
      throw entry.problem("“version” is missing")
    }
    guard entry["trackId"] != nil || entry["bundleId"] != nil else {
      throw entry.problem("“trackId” or “bundleId” is missing")
    }
    try entry.checkListing()
    countries = try field["countries"]?.elements().map { item in
      let code = try item.text()
      return try item.valid { try CountryCode(validating: code) }
    }
    minimumVersion = try field["minimumVersion"]?.version()
    if let minimumVersion, minimumVersion > newest {
      throw field.problem(
        "\(minimumVersion) is newer than the listing's version \(newest)", at: "minimumVersion")
    }
    blockedVersions = Set(try field["blockedVersions"]?.elements().map { try $0.version() } ?? [])
    forcedAccounts = Set(
      try field["forcedAccounts"]?.elements().map { AccountID(rawValue: try $0.text()) } ?? [])
    // Each app decides whether `itms-services` is permitted.
    downloadURL = try field["downloadUrl"].map { link in
      let text = try link.text()
      let url = try link.valid { try DownloadLink(.string(text))?.permitted(itmsServices: true) }
      guard let url else { throw link.problem("expected a link to a store or a secure web page") }
      return url
    }
  }
}
