import FoundationEssentials
import HostedConcurrency
package import HostedFileIO

/// The file `apps.json` of a store; it is read again after each change.
package final class AppCatalogFile: Sendable {
  package static let name = "apps.json"
  private static let limit: Int64 = 16 << 20

  private let folder: Directory
  private let report: @Sendable (ContentError) -> Void
  private let state = Mutex(State())

  private struct State {
    /// The identity of the last file whose content was read, valid or not.
    var identity: FileIdentity?
    /// The last valid catalog.
    var catalog: AppCatalog?
    /// Why the last file is invalid; it is thrown if there was no valid one.
    var failure: ContentError?
    /// The identity of the last file with a reported error.
    var reported: FileIdentity?
  }

  /// Creates the catalog for the file in `folder`, which may not exist yet.
  ///
  /// `report` is called once for each change that makes the file invalid or unreadable.
  package init(
    in folder: Directory, report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) {
    self.folder = folder
    self.report = report
  }

  /// The apps of the last valid file; nil if the file does not exist.
  ///
  /// Throws file errors, and `storeDamaged` for an invalid file, unless there was a valid one
  /// before.
  package func catalog() throws -> AppCatalog? { try current(report) }

  /// Reads the file for the first time.
  ///
  /// Errors are thrown, not reported.
  package func open() throws { _ = try current { _ in } }

  private func current(_ report: (ContentError) -> Void) throws -> AppCatalog? {
    guard let identity = try folder.status(of: Self.name)?.identity else {
      state.withLock { $0 = State() }
      return nil
    }
    let known = state.withLock { $0 }
    if known.identity == identity {
      if let catalog = known.catalog { return catalog }
      if let failure = known.failure { throw failure }
    }
    do {
      let bytes = try folder.contents(of: Self.name, limit: Self.limit)
      let catalog = try AppCatalog(json: bytes, source: folder.path(of: Self.name))
      state.withLock { $0 = State(identity: identity, catalog: catalog) }
      return catalog
    } catch {
      let failure = ContentError(error, while: "reading \(Self.name)")
      // After another error, such as too many open files, the next call reads the file again.
      let isInvalid = [.storeDamaged, .limitExceeded].contains(failure.code)
      let isNew = state.withLock { state in
        defer { state.reported = identity }
        if isInvalid {
          state.identity = identity
          state.failure = failure
        }
        return state.reported != identity
      }
      if isNew { report(failure) }
      guard let catalog = known.catalog else { throw error }
      return catalog
    }
  }

  /// Returns the response to a GET of `path` with decoded parameters.
  ///
  /// Returns nil if the file does not exist, and for other paths.
  package func answer(path: String, parameters: [String: String]) throws -> AppServerAnswer? {
    try catalog()?.answer(path: path, parameters: parameters)
  }
}

/// A response of your own server: a status and a JSON document.
public struct AppServerAnswer: Hashable, Sendable, CustomStringConvertible {
  /// The HTTP status.
  public let status: Int
  /// The JSON document.
  public let body: [UInt8]

  /// The status and the JSON document.
  public var description: String { "\(status) \(String(decoding: body, as: UTF8.self))" }
}

extension AppCatalog {
  /// The paths that are served.
  public static let paths = ["/lookup", "/search", "/app-version"]

  /// Returns the response to a GET of `path` with decoded parameters; nil for other paths.
  ///
  /// The status is 400 for an invalid parameter, and 404 for the version of an unknown app.
  public func answer(path: String, parameters: [String: String]) -> AppServerAnswer? {
    guard Self.paths.contains(path) else { return nil }
    var sold = apps
    if let text = parameters["country"] {
      guard let country = try? CountryCode(validating: text) else { return .refused("country") }
      sold = apps.filter { $0.countries?.contains(country) ?? true }
    }
    return switch path {
    case "/lookup": lookup(parameters, sold)
    case "/search": search(parameters, sold)
    default: version(parameters, sold)
    }
  }

  private func lookup(_ question: [String: String], _ sold: [App]) -> AppServerAnswer {
    let keys = [
      ("id", "trackId"), ("bundleId", "bundleId"), ("amgArtistId", "amgArtistId"), ("upc", "upc"),
      ("isbn", "isbn"),
    ]
    guard let (parameter, field) = keys.first(where: { question[$0.0] != nil }),
      let limit = Self.limit(question["limit"], otherwise: 200)
    else { return .refused("id, limit") }
    let wanted = Set((question[parameter] ?? "").split(separator: ",").map { $0.lowercased() })
    let names = { (listing: AppListing, field: String) in
      listing.fields[field]?.stringValue.map { wanted.contains($0.lowercased()) } ?? false
    }
    var found = sold.map(\.listing).filter { listing in
      // With an entity, a seller's number matches all apps of the seller.
      listing.isOf(entity: question["entity"])
        && (names(listing, field)
          || (parameter == "id" && question["entity"] != nil && names(listing, "artistId")))
    }
    if question["sort"] == "recent" {
      found.sort {
        ($0.currentVersionReleaseDate ?? .distantPast)
          > ($1.currentVersionReleaseDate ?? .distantPast)
      }
    }
    return AppServerAnswer(200, LookupResults(Array(found.prefix(limit))))
  }

  /// Reads a limit, 1 to 200; nil if it is invalid.
  private static func limit(_ text: String?, otherwise standard: Int) -> Int? {
    guard let text else { return standard }
    return Int(text).flatMap { (1...200).contains($0) ? $0 : nil }
  }

  private func search(_ question: [String: String], _ sold: [App]) -> AppServerAnswer {
    guard let term = question["term"], !term.isEmpty,
      let limit = Self.limit(question["limit"], otherwise: 50)
    else { return .refused("term, limit") }
    let words = term.lowercased().split(separator: " ")
    let fields = Self.searchedFields[question["attribute"] ?? ""] ?? Self.allSearchedFields
    let allowsExplicit = question["explicit"]?.lowercased() != "no"
    let found = sold.map(\.listing).filter { listing in
      guard listing.isOf(entity: question["entity"]),
        allowsExplicit || listing.fields["trackExplicitness"]?.stringValue != "explicit"
      else { return false }
      let text = fields.compactMap { listing.fields[$0]?.stringValue?.lowercased() }
        .joined(separator: "\n")
      return words.allSatisfy { text.contains($0) }
    }
    return AppServerAnswer(200, LookupResults(Array(found.prefix(limit))))
  }

  private static let allSearchedFields = ["trackName", "sellerName", "artistName", "description"]
  private static let searchedFields = [
    "softwareDeveloper": ["sellerName", "artistName"], "titleTerm": ["trackName"],
    "descriptionTerm": ["description"], "genreIndex": ["primaryGenreName"],
  ]

  private func version(_ question: [String: String], _ sold: [App]) -> AppServerAnswer {
    guard let text = question["version"], let installed = try? AppVersion(validating: text) else {
      return .refused("version")
    }
    let app = sold.first { app in
      app.listing.isOf(entity: question["entity"])
        && question["bundleId"].map { $0.lowercased() == app.listing.bundleID?.lowercased() }
          ?? question["id"].map { $0 == app.listing.trackID?.description } ?? false
    }
    guard let app else {
      return AppServerAnswer(404, ["errorMessage": "App not found in this country"])
    }
    let account = question["account"].map(AccountID.init(rawValue:))
    return AppServerAnswer(200, app.answer(for: installed, account: account))
  }
}

extension AppCatalog.App {
  /// Returns the answer for an app with the version `installed`.
  ///
  /// Never requires a version that is not newer.
  func answer(for installed: AppVersion, account: AccountID?) -> AppVersionAnswer {
    let isNewer = listing.version.map { installed < $0 } ?? false
    let isForced =
      minimumVersion.map { installed < $0 } ?? false || blockedVersions.contains(installed)
      || account.map(forcedAccounts.contains) ?? false
    var fields = AppVersionAnswer(
      hasNewVersion: isNewer, requiresUpdate: isNewer && isForced,
      downloadURL: downloadURL ?? listing.trackViewURL, version: listing.version,
      releaseNotes: listing.releaseNotes
    ).fields
    fields["minimumOsVersion"] = listing.fields["minimumOsVersion"]
    return AppVersionAnswer(fields: fields)
  }
}

extension AppListing {
  /// Whether it matches `entity`; a missing or unknown entity matches all apps.
  fileprivate func isOf(entity: String?) -> Bool {
    switch entity {
    case "macSoftware": kind == "mac-software"
    case "software", "iPadSoftware": kind != "mac-software"
    default: true
    }
  }
}

extension AppServerAnswer {
  /// The response to an invalid query, with the message of Apple's server.
  fileprivate static func refused(_ keys: String) -> Self {
    AppServerAnswer(400, ["errorMessage": "Invalid value(s) for key(s): [\(keys)]"])
  }

  fileprivate init(_ status: Int, _ document: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Encoding only fails for numbers that JSON cannot represent, which a file cannot contain.
    let data = try? encoder.encode(document)
    self.init(status: data == nil ? 500 : status, body: data.map(Array.init) ?? Array("{}".utf8))
  }
}
