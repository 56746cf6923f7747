import AppUpdate
import ContentModel
import FoundationEssentials

/// `app-update`: checks for a newer version of an app.
enum AppUpdateCommand {
  static let command = Command(
    name: "app-update", summary: "Checks for a newer version of an app.",
    operands: "", operandCount: 0...0,
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
    example: "hostedcontent app-update --id 364709193 --installed 1.0 --country de", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let question = try AppUpdateQuestion(arguments)
    let (offer, listing, place) = try await question.answer()
    let policy = AppUpdatePolicy(
      all: .annoying, minimumSupportedVersion: question.minimum, daysSinceRelease: 0)
    let decision = policy.decision(
      about: offer, installed: question.app, history: UpdateHistory(), now: Date())
    if arguments.has("--json") {
      try console.print(json: Report(decision, offer, listing, place))
    } else {
      let name = (listing?.trackName ?? question.shown).printable(limit: 200)
      console.print(sentence(decision, offer, name, place))
      if decision.action != .none {
        if let link = decision.downloadURL { console.print(link.absoluteString) }
        if let refusal = policy.refusal(ofLinkIn: offer) { console.note("\(refusal)") }
      }
    }
    return decision.action == .none && arguments.has("--require-update") ? .nothingToDo : .done
  }

  /// The source of the answer.
  enum Place {
    case storefront(CountryCode, found: String)
    case server
    case feed

    var country: String? {
      if case .storefront(let country, _) = self { country.rawValue } else { nil }
    }

    var found: String {
      switch self {
      case .storefront(_, let found): found
      case .server: "server"
      case .feed: "feed"
      }
    }
  }

  private struct Report: Encodable {
    let action: String
    let reason: String
    let installed: String
    let offered: String?
    let level: String?
    let found: String
    let country: String?
    let name: String?
    let bundleIdentifier: String?
    let appleID: Int64?
    let downloadURL: String?
    let releaseDate: Date?
    let releaseNotes: String?
    let minimumSystem: String?

    init(
      _ decision: UpdateDecision, _ offer: UpdateOffer, _ listing: AppListing?, _ place: Place
    ) {
      action = decision.action.rawValue
      reason = decision.reason.name
      installed = decision.installed.rawValue
      offered = offer.versionText
      level = decision.offered?.difference(from: decision.installed)?.rawValue
      found = place.found
      country = place.country
      name = listing?.trackName
      bundleIdentifier = listing?.bundleID
      appleID = listing?.trackID?.rawValue
      downloadURL = decision.downloadURL?.absoluteString
      releaseDate = offer.releaseDate
      releaseNotes = decision.releaseNotes
      minimumSystem = offer.minimumOSVersion?.rawValue
    }
  }

  private static func sentence(
    _ decision: UpdateDecision, _ offer: UpdateOffer, _ name: String, _ place: Place
  ) -> String {
    let installed = "installed is \(decision.installed)"
    let version = offer.versionText.map { "\(name) \($0)" } ?? "A newer version of \(name)"
    let country =
      if case .storefront(let country, "elsewhere") = place { ", in \(country) only" } else { "" }
    switch (decision.action, decision.reason) {
    case (.force, _): return "\(version) is required\(country); \(installed)."
    case (.remind, _): return "\(version) is available\(country); \(installed)."
    case (.none, .systemTooOld(let needed)):
      return "\(version) needs system \(needed) and cannot be installed here."
    case (.none, .versionInvalid): return "\(name) is offered without a readable version."
    case (.none, .offerIsOlder):
      return
        "\(version) is offered\(country), older than the installed \(decision.installed)."
    case (.none, _): return "\(name) \(decision.installed) is up to date."
    }
  }
}
