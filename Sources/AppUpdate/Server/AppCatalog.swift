package import FoundationEssentials
import HostedModel

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

/// A value of `apps.json` with its path; a value of the wrong type is an error.
private struct AppField {
  /// An invalid value and its path.
  struct Problem: Error {
    let path: [String]
    let what: String
    var cause: String?
  }

  let value: JSONField
  let path: [String]

  /// The member `name` of an object; nil if it does not exist.
  subscript(name: String) -> AppField? {
    value.members?[name].map { AppField(value: $0, path: path + [name]) }
  }

  /// Creates a problem with this value, or with its member `name`.
  func problem(_ what: String, at name: String? = nil, cause: String? = nil) -> Problem {
    let path = path + [name].compactMap(\.self)
    return Problem(path: path, what: "\(Self.place(path)): \(what)", cause: cause)
  }

  /// For example `app 2, forcedAccounts 1`.
  private static func place(_ path: [String]) -> String {
    guard path.count > 1 else { return path.first ?? "the file" }
    var parts: [String] = []
    for (name, next) in zip(path, path.dropFirst() + [""]) where Int(name) == nil {
      let number = Int(next).map { " \($0 + 1)" } ?? ""
      parts.append((name == "apps" ? "app" : name.printable(limit: 60)) + number)
    }
    return parts.joined(separator: ", ")
  }

  /// The members of an object.
  func members() throws -> [String: JSONField] {
    guard let members = value.members else { throw problem("expected an object") }
    return members
  }

  /// Throws for a member whose name is not in `names`.
  func allowOnly(_ names: Set<String>) throws {
    guard let unknown = try members().keys.filter({ !names.contains($0) }).min() else { return }
    throw problem(
      "unknown name; expected one of \(names.sorted().joined(separator: ", "))", at: unknown)
  }

  /// The elements of a list.
  func elements() throws -> [AppField] {
    guard case .array(let list) = value else { throw problem("expected a list") }
    return list.enumerated().map { AppField(value: $1, path: path + [String($0)]) }
  }

  /// A non-empty text.
  func text() throws -> String {
    guard case .string(let text) = value, !text.isEmpty else { throw problem("expected a text") }
    return text
  }

  /// A version; it must be a text, because the number 2.10 equals 2.1.
  func version() throws -> AppVersion {
    let text = try text()
    return try valid { try AppVersion(validating: text) }
  }

  /// Returns the result of `read`; its error becomes a problem with this value.
  func valid<Value>(_ read: () throws -> Value) throws -> Value {
    do {
      return try read()
    } catch let error as ContentError {
      throw problem(error.message, cause: error.remedy)
    }
  }

  /// Checks the fields of a listing that answers are computed from.
  ///
  /// Other fields are served unchanged.
  func checkListing() throws {
    if let identifier = self["trackId"], AppListing(fields: try members()).trackID == nil {
      throw identifier.problem("expected a number of at least 1")
    }
    _ = try self["bundleId"]?.text()
    _ = try self["minimumOsVersion"]?.version()
    if let date = self["currentVersionReleaseDate"], date.value.date == nil {
      throw date.problem("expected a date such as 2026-01-15T12:00:00Z")
    }
    if let page = self["trackViewUrl"], page.value.url == nil {
      throw page.problem("expected a URL")
    }
  }
}
