public import FoundationEssentials

/// The apps of one's own server: what it answers to look-ups, searches and version questions.
///
/// Pure: a path and a query go in, an answer comes out. Source of its form: `apps.json`, described
/// in Documentation/AppUpdate.md.
public struct AppCatalogue: Hashable, Sendable {
  /// An app as its publisher describes it.
  public struct App: Hashable, Sendable {
    /// What look-ups answer.
    public let listing: AppListing
    /// Where it is sold; nil is everywhere.
    public let countries: [CountryCode]?
    /// What is older must be updated; nil for none.
    public let minimumVersion: AppVersion?
    /// Accounts that must update whatever they have, unless it is the newest.
    public let forcedAccounts: Set<String>
    /// Where the update is; nil takes the listing's page.
    public let downloadURL: URL?
  }

  /// The apps in the file's order.
  public let apps: [App]

  /// Reads the file of at most 16 MiB; throws `storeDamaged` that names the app and the field.
  public init(json bytes: [UInt8], source: String = "apps.json") throws {
    let document: JSONField
    do {
      document = try JSONField(document: bytes, limit: 16 << 20, source: source)
    } catch let error as ContentError {
      throw Self.damaged(source, "cannot be read", cause: error.cause ?? error.message)
    }
    guard case .list(let list)? = document.members?["apps"] else {
      throw Self.damaged(source, "has no list “apps”")
    }
    apps = try list.enumerated().map { index, field in
      do {
        return try App(field)
      } catch let error as ContentError {
        throw Self.damaged(source, "is wrong at app \(index + 1)", cause: error.message)
      }
    }
  }

  private static func damaged(_ source: String, _ what: String, cause: String? = nil)
    -> ContentError
  {
    ContentError(
      .storeDamaged, "\(source) \(what)", remedy: "Correct the file; Documentation/AppUpdate.md",
      subject: source, cause: cause)
  }
}

extension AppCatalogue.App {
  fileprivate init(_ field: JSONField) throws {
    guard let members = field.members, let fields = members["listing"]?.members else {
      throw ContentError(.storeDamaged, "it has no object “listing”", remedy: "Add it")
    }
    listing = AppListing(fields: fields)
    guard listing.trackID != nil || listing.bundleID != nil, let text = listing.versionText else {
      throw ContentError(
        .storeDamaged, "its listing has no version, or neither trackId nor bundleId",
        remedy: "Add them")
    }
    _ = try AppVersion(text)
    countries = try members["countries"]?.strings.map { try $0.map(CountryCode.init) }
    minimumVersion = try members["minimumVersion"]?.string.map { try AppVersion($0) }
    forcedAccounts = Set(members["forcedAccounts"]?.strings ?? [])
    // Whether `itms-services` is allowed is for each app to say.
    downloadURL = try? DownloadLink(members["downloadUrl"])?.permitted(itmsServices: true)
    if members["downloadUrl"] != nil, downloadURL == nil {
      throw ContentError(
        .storeDamaged, "its downloadUrl leads neither to a store nor to a secure web page",
        remedy: "Use an https URL")
    }
  }

  /// Whether the storefront of `country` sells it.
  func isSold(in country: CountryCode) -> Bool { countries?.contains(country) ?? true }
}
