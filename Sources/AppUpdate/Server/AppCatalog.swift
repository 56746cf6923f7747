package import FoundationEssentials

/// The apps of your own server, and its responses to lookups, searches and version queries.
///
/// Pure: a path and a query in, a response out. It is read from `apps.json`, which is described in
/// Documentation/AppUpdate.md.
public struct AppCatalog: Hashable, Sendable, CustomStringConvertible {
  package struct App: Hashable, Sendable {
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
      let document = try JSONValue(answer: bytes, limit: 16 << 20, source: source)
      apps = try Self.apps(in: JSONReader(document, errors: FieldErrors()))
    } catch let error as FieldError {
      let line = JSONValue.line(of: error.path, in: bytes) ?? 1
      throw Self.damaged(source, "line \(line): \(error.message)", cause: error.cause)
    } catch let error as ContentError {
      throw Self.damaged(source, "cannot be read", cause: error.cause ?? error.message)
    }
  }

  private static func apps(in document: JSONReader<FieldErrors>) throws -> [App] {
    try document.allowOnly(["apps"])
    guard let apps = try document.optional("apps")?.elements() else {
      throw document.error(.other("“apps” is missing: expected a list of apps"))
    }
    return try apps.map(App.init)
  }

  private static func damaged(_ source: String, _ what: String, cause: String?) -> ContentError {
    ContentError(
      .storeDamaged, "\(source) \(what)", remedy: "Correct the file; Documentation/AppUpdate.md",
      subject: source, cause: cause)
  }

  /// The identities and versions of the apps in one line.
  public var description: String {
    "\(apps.count) apps: \(apps.map(\.listing.summary).joined(separator: ", "))"
  }
}

extension AppCatalog.App {
  fileprivate init(_ field: JSONReader<FieldErrors>) throws {
    try field.allowOnly([
      "listing", "countries", "minimumVersion", "blockedVersions", "forcedAccounts", "downloadUrl",
    ])
    let entry = try field["listing"]
    listing = AppListing(fields: try entry.object)
    let newest = try entry["version"].version()
    guard try entry.optional("trackId") != nil || entry.optional("bundleId") != nil else {
      throw entry.error(.other("“trackId” or “bundleId” is missing"))
    }
    try entry.checkListing()
    countries = try field.optional("countries")?.elements().map { item in
      let code = try item.text()
      return try item.valid { try CountryCode(validating: code) }
    }
    minimumVersion = try field.optional("minimumVersion")?.version()
    if let minimumVersion, minimumVersion > newest {
      throw field.error(
        .other("\(minimumVersion) is newer than the listing's version \(newest)"),
        at: "minimumVersion")
    }
    blockedVersions = Set(
      try field.optional("blockedVersions")?.elements().map { try $0.version() } ?? [])
    forcedAccounts = Set(
      try field.optional("forcedAccounts")?.elements().map { AccountID(rawValue: try $0.text()) }
        ?? [])
    // Each app decides whether `itms-services` is permitted.
    downloadURL = try field.optional("downloadUrl").map { link in
      let text = try link.text()
      return try link.valid {
        try link.read(.described("a link to a store or a secure web page")) { _ in
          try DownloadLink(.string(text))?.permitted(itmsServices: true)
        }
      }
    }
  }
}

private struct FieldErrors: JSONErrors {
  func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error {
    FieldError(problem, at: steps)
  }
}

/// An invalid value in `apps.json`.
private struct FieldError: Error {
  let path: [JSONStep]
  let message: String
  let cause: String?

  init(_ problem: JSONProblem, at path: [JSONStep], cause: String? = nil) {
    self.cause = cause
    // The line of a missing member is that of its object.
    self.path = problem == .missing ? Array(path.dropLast()) : path
    message = "\(Self.place(self.path)): \(Self.text(problem, at: path))"
  }

  private static func text(_ problem: JSONProblem, at path: [JSONStep]) -> String {
    switch problem {
    case .missing:
      if case .member(let name)? = path.last { "“\(name)” is missing" } else { "missing" }
    case .unknown(let names):
      "unknown name; expected one of \(names.sorted().joined(separator: ", "))"
    case .expected(.array): "expected a list"
    case .expected(.string): "expected a text"
    case .expected(let type): "expected \(type)"
    case .other(let text): text
    }
  }

  /// For example `app 2, forcedAccounts 1`.
  private static func place(_ path: [JSONStep]) -> String {
    var parts: [String] = []
    for step in path {
      switch step {
      case .member(let name): parts.append(name.printable(limit: 60))
      case .element(let index):
        let name = parts.popLast() ?? ""
        parts.append("\(name == "apps" ? "app" : name) \(index + 1)")
      }
    }
    return parts.isEmpty ? "the file" : parts.joined(separator: ", ")
  }
}

extension JSONReader<FieldErrors> {
  /// Returns a text that is not empty.
  fileprivate func text() throws -> String {
    try read(.string) { value in value.string.flatMap { $0.isEmpty ? nil : $0 } }
  }

  /// Returns a version; it must be a text, because the number 2.10 equals 2.1.
  fileprivate func version() throws -> AppVersion {
    let text = try text()
    return try valid { try AppVersion(validating: text) }
  }

  /// Returns the result of `read`; its error becomes an error of this value.
  fileprivate func valid<Value>(_ read: () throws -> Value) throws -> Value {
    do {
      return try read()
    } catch let error as ContentError {
      throw FieldError(.other(error.message), at: steps, cause: error.remedy)
    }
  }

  /// Checks the fields of a listing that answers are computed from.
  ///
  /// Other fields are served unchanged.
  fileprivate func checkListing() throws {
    let listing = AppListing(fields: try object)
    _ = try optional("trackId")?.read(.described("a number of at least 1")) { _ in listing.trackID }
    _ = try optional("bundleId")?.text()
    _ = try optional("minimumOsVersion")?.version()
    _ = try optional("currentVersionReleaseDate")?.read(
      .described("a date such as 2026-01-15T12:00:00Z")
    ) { $0.dateValue }
    _ = try optional("trackViewUrl")?.read(.described("a URL")) { $0.urlValue }
  }
}
