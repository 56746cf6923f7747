import AppUpdate
import FoundationEssentials

enum AppUpdateCommand {
  static let command = Command(
    name: "app-update", summary: "Checks for a newer version of an app.",
    options: [
      .init("--id", "ID", "the app's Apple ID, or a store link that contains it"),
      .init("--bundle-id", "ID", "the app's bundle identifier, instead of --id"),
      .init("--installed", "VERSION", "the installed version", isRequired: true),
      .init("--country", "CC", "the storefront (two letters); default us, or any with --account"),
      .init("--entity", "KIND", "the kind of app, such as macSoftware for a Mac app"),
      .init("--also", "CC,CC", "storefronts to try if that one does not offer it"),
      .init(
        "--server", "URL", "query this server instead of Apple's; https, except on this machine"),
      .init("--account", "NAME", "query the server's /app-version for this account"),
      .init("--feed", "FILE", "read an Enterprise Partner Feed file instead; needs --id"),
      .init(
        "--system", "VERSION", "the operating system's version, for apps that need a newer one"),
      .init("--minimum", "VERSION", "older versions must be updated"),
      .init("--require-update", nil, "exit with 3 if there is no newer version"),
      .json,
    ],
    example: "hostedcontent app-update --id 364709193 --installed 1.0 --country de"
  ) { arguments, console in
    let question = try AppUpdateQuestion(arguments)
    let answer = try await question.answer()
    let policy = AppUpdatePolicy(
      all: .annoying, minimumSupportedVersion: question.minimum, minimumReleaseAge: .zero)
    let decision = policy.decision(
      about: answer.offer, installed: question.app, history: UpdateHistory(), now: Date())
    try console.print(report(decision, answer)) {
      let name = (answer.listing?.trackName ?? question.shown).printable(limit: 200)
      console.print(sentence(decision, name, answer))
      if decision.action != .noAction {
        if let link = decision.downloadURL { console.print(link.absoluteString) }
        if let refusal = policy.refusal(ofLinkIn: answer.offer) { console.note("\(refusal)") }
      }
    }
    return decision.action == .noAction && arguments.has("--require-update") ? .nothingToDo : .done
  }

  private static func report(
    _ decision: UpdateDecision, _ answer: AppUpdateQuestion.Answer
  ) -> [String: JSONValue] {
    let texts: [String: String?] = [
      "action": decision.action.rawValue, "reason": decision.reason.name,
      "installed": decision.installed.rawValue, "offered": answer.offer.versionText,
      "level": decision.offered?.difference(from: decision.installed)?.rawValue,
      "found": answer.found.rawValue, "country": answer.country?.rawValue,
      "name": answer.listing?.trackName, "bundleIdentifier": answer.listing?.bundleID,
      "downloadURL": decision.downloadURL?.absoluteString,
      "releaseDate": answer.offer.releaseDate?.formatted(.iso8601),
      "releaseNotes": decision.releaseNotes,
      "minimumSystem": answer.offer.minimumOSVersion?.rawValue,
    ]
    var report = texts.compactMapValues { $0.map(JSONValue.string) }
    report["appleID"] = answer.listing?.trackID.map { .integer($0.rawValue) }
    return report
  }

  private static func sentence(
    _ decision: UpdateDecision, _ name: String, _ answer: AppUpdateQuestion.Answer
  ) -> String {
    let installed = "installed is \(decision.installed)"
    let version = answer.offer.versionText.map { "\(name) \($0)" } ?? "A newer version of \(name)"
    let country = answer.found == .elsewhere ? ", in \(answer.country?.rawValue ?? "") only" : ""
    switch (decision.action, decision.reason) {
    case (.force, _): return "\(version) is required\(country); \(installed)."
    case (.remind, _): return "\(version) is available\(country); \(installed)."
    case (.noAction, .systemTooOld(let needed)):
      return "\(version) needs system \(needed) and cannot be installed here."
    case (.noAction, .versionInvalid): return "\(name) is offered without a readable version."
    case (.noAction, .offerIsOlder):
      return "\(version) is offered\(country), older than the installed \(decision.installed)."
    case (.noAction, _): return "\(name) \(decision.installed) is up to date."
    }
  }
}

/// The query of `app-update`, validated before anything is sent.
private struct AppUpdateQuestion: Sendable {
  let app: InstalledApp
  let minimum: AppVersion?
  private let key: LookupQuery.Key
  private let bundleID: String?
  private let country: CountryCode?
  private let candidates: [CountryCode]
  private let entity: String?
  private let server: URL?
  private let account: AccountID?
  private let feed: String?

  init(_ arguments: Arguments) throws {
    do {
      let identifier = try arguments.text("--id").map { try AppleID(validating: $0) }
      bundleID = try arguments.text("--bundle-id")
      switch (identifier, bundleID) {
      case (let identifier?, nil): key = .ids([identifier])
      case (nil, let bundleID?): key = .bundleIDs([bundleID])
      case (nil, nil): throw arguments.wrong("--id or --bundle-id is missing")
      case (_?, _?): throw arguments.wrong("--id and --bundle-id cannot be combined")
      }
      app = InstalledApp(
        name: "", version: try AppVersion(validating: arguments.required("--installed")),
        systemVersion: try arguments.text("--system").map { try AppVersion(validating: $0) })
      minimum = try arguments.text("--minimum").map { try AppVersion(validating: $0) }
      country = try arguments.text("--country").map { try CountryCode(validating: $0) }
      candidates = try (arguments.text("--also") ?? "").split(separator: ",")
        .map { try CountryCode(validating: String($0)) }
      entity = try arguments.text("--entity")
      try LookupQuery(key, entity: entity).check()
    } catch let error as ContentError where error.code != .usage {
      throw arguments.wrong(error.message, suggestion: "\(error.remedy). ")
    }
    server = try arguments.value("--server", "an http or https URL without a query") {
      text -> URL? in
      guard let url = URL(string: text), ["http", "https"].contains(url.scheme),
        !text.contains("?"), !text.contains("#")
      else { return nil }
      return url.host() == nil ? nil : url
    }
    account = try arguments.account()
    feed = try arguments.text("--feed")
    if account != nil, server == nil || bundleID == nil {
      throw arguments.wrong("--account needs --server and --bundle-id")
    }
    if account != nil, !candidates.isEmpty {
      throw arguments.wrong("--also and --account cannot be combined")
    }
    if feed != nil, bundleID != nil || server != nil || country != nil || !candidates.isEmpty {
      throw arguments.wrong(
        "--feed needs --id, and excludes --bundle-id, --server, --country and --also")
    }
  }

  var shown: String {
    switch key {
    case .ids(let identifiers): "app \(identifiers.map(\.description).joined(separator: ", "))"
    default: bundleID ?? ""
    }
  }

  struct Answer {
    let offer: UpdateOffer
    /// Nil for the answer of a server, which has no listing.
    let listing: AppListing?
    let found: Place
    /// The storefront; nil for a server or a feed.
    let country: CountryCode?

    enum Place: String {
      /// A storefront.
      case offered, lagging, elsewhere
      case server, feed
    }

    init(_ offer: UpdateOffer, found: Place) {
      (self.offer, listing, self.found, country) = (offer, nil, found, nil)
    }

    init(_ listing: AppListing, found: Place, in country: CountryCode? = nil) {
      (offer, self.listing) = (UpdateOffer(listing), listing)
      (self.found, self.country) = (found, country)
    }
  }

  /// Returns the answer; throws `appNotOffered` if no source offers the app.
  func answer() async throws -> Answer {
    if let feed { return try answer(fromFeed: feed) }
    let transport = try HTTPLookupTransport()
    if let account, let server, let bundleID {
      let source = ServerUpdateSource(
        server: server, bundleID: bundleID, country: country, entity: entity, transport: transport)
      let answer = try await source.answer(for: app, account: account)
      return Answer(UpdateOffer(answer), found: .server)
    }
    let lookup = AppLookup(.init(server: server ?? AppLookup.appleServer), transport: transport)
    let country = country ?? .us
    let finding = try await lookup.find(
      key, country: country, candidates: candidates, entity: entity)
    switch finding {
    case .offered(let listing): return Answer(listing, found: .offered, in: country)
    case .lagging(let listing): return Answer(listing, found: .lagging, in: country)
    case .elsewhere(let listing, in: let other):
      return Answer(listing, found: .elsewhere, in: other)
    case .unknown(let tried):
      throw ContentError(
        .appNotOffered,
        "App not found in \(tried.map(\.rawValue).joined(separator: ", ")): \(shown)",
        remedy: "Check the identifier, or add the countries where it is sold with --also",
        subject: shown)
    }
  }

  private func answer(fromFeed path: String) throws -> Answer {
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
    let fields = columns.compactMapValues { row[$0].map(JSONValue.string) }
    return Answer(AppListing(fields: fields), found: .feed)
  }
}
