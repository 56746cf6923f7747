import AppUpdate
import ContentModel
import FoundationEssentials

/// The query of `app-update`, validated before anything is sent.
struct AppUpdateQuestion: Sendable {
  let app: InstalledApp
  let minimum: AppVersion?
  private let key: LookupQuery.Key
  private let bundleID: String?
  private let country: CountryCode?
  private let candidates: [CountryCode]
  private let entity: String?
  private let server: URL?
  private let account: String?
  private let feed: String?

  /// Reads the options; throws `usage` if they are invalid.
  init(_ arguments: Arguments) throws {
    do {
      let identifier = try arguments.text("--id").map { try AppleID(validating: $0) }
      bundleID = try arguments.text("--bundle-id")
      key = try Self.key(identifier, bundleID)
      app = InstalledApp(
        name: "", version: try AppVersion(validating: arguments.required("--installed")),
        systemVersion: try arguments.text("--system").map { try AppVersion(validating: $0) })
      minimum = try arguments.text("--minimum").map { try AppVersion(validating: $0) }
      country = try arguments.text("--country").map { try CountryCode(validating: $0) }
      candidates = try (arguments.text("--also") ?? "").split(separator: ",")
        .map { try CountryCode(validating: String($0)) }
    } catch let error as ContentError where error.code != .usage {
      throw Self.wrong(error.message, error.remedy)
    }
    server = try arguments.text("--server").map { text in
      guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil
      else { throw Self.wrong("--server takes an http or https URL, not “\(text)”") }
      return url
    }
    entity = try arguments.text("--entity")
    account = try arguments.text("--account")
    feed = try arguments.text("--feed")
    if account != nil, server == nil || bundleID == nil {
      throw Self.wrong("--account needs --server and --bundle-id")
    }
    if account != nil, !candidates.isEmpty {
      throw Self.wrong("--also and --account cannot be combined")
    }
    if feed != nil, bundleID != nil || server != nil || country != nil || !candidates.isEmpty {
      throw Self.wrong(
        "--feed needs --id, and excludes --bundle-id, --server, --country and --also")
    }
  }

  private static func key(_ identifier: AppleID?, _ bundleID: String?) throws -> LookupQuery.Key {
    switch (identifier, bundleID) {
    case (let identifier?, nil): return .ids([identifier])
    case (nil, let bundleID?): return .bundleIDs([bundleID])
    case (nil, nil): throw wrong("--id or --bundle-id is missing")
    case (_?, _?): throw wrong("--id and --bundle-id cannot be combined")
    }
  }

  private static func wrong(_ message: String, _ remedy: String? = nil) -> ContentError {
    let help = "See hostedcontent app-update --help"
    return ContentError(.usage, message, remedy: remedy.map { "\($0). \(help)" } ?? help)
  }

  /// The identifier, for messages.
  var shown: String {
    switch key {
    case .ids(let identifiers): "app \(identifiers.map(\.description).joined(separator: ", "))"
    default: bundleID ?? ""
    }
  }

  /// Returns the offer, the listing if one was found, and the source.
  ///
  /// Throws `appNotOffered` if no source offers the app.
  func answer() async throws -> (UpdateOffer, AppListing?, AppUpdateCommand.Place) {
    if let feed { return try answer(fromFeed: feed) }
    let transport = try HTTPLookupTransport()
    if let account, let server, let bundleID {
      let source = ServerUpdateSource(
        server: server, bundleID: bundleID, country: country, transport: transport)
      return (UpdateOffer(try await source.answer(for: app, account: account)), nil, .server)
    }
    let lookup = AppLookup(.init(server: server), transport: transport)
    let country = country ?? .us
    let finding = try await lookup.find(
      key, country: country, candidates: candidates, entity: entity)
    switch finding {
    case .offered(let listing):
      return (UpdateOffer(listing), listing, .storefront(country, found: "offered"))
    case .lagging(let listing):
      return (UpdateOffer(listing), listing, .storefront(country, found: "lagging"))
    case .elsewhere(let listing, in: let place):
      return (UpdateOffer(listing), listing, .storefront(place, found: "elsewhere"))
    case .unknown(let tried):
      throw ContentError(
        .appNotOffered,
        "App not found in \(tried.map(\.rawValue).joined(separator: ", ")): \(shown)",
        remedy: "Check the identifier, or add the countries where it is sold with --also",
        subject: shown)
    }
  }

  private func answer(fromFeed path: String) throws
    -> (UpdateOffer, AppListing?, AppUpdateCommand.Place)
  {
    guard case .ids(let identifiers) = key,
      let row = try PartnerFeed(path: path).rows(
        where: "application_id", isIn: Set(identifiers.map(\.description))
      ).first
    else {
      throw ContentError(
        .appNotOffered, "The feed \(path) does not contain \(shown)",
        remedy: "Check the identifier",
        subject: shown)
    }
    let columns = [
      "trackId": "application_id", "trackName": "title", "version": "version",
      "trackViewUrl": "view_url", "sellerName": "seller_name", "fileSizeBytes": "download_size",
    ]
    let listing = AppListing(fields: columns.compactMapValues { row[$0].map(JSONField.string) })
    return (UpdateOffer(listing), listing, .feed)
  }
}
