import AppUpdate
import HostedModel
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
    example: "hostedcontent app-update --id 364709193 --installed 1.0 --country de", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
    let question = try AppUpdateQuestion(arguments)
    let answer = try await question.answer()
    let policy = AppUpdatePolicy(
      all: .annoying, minimumSupportedVersion: question.minimum, minimumReleaseAge: .zero)
    let decision = policy.decision(
      about: answer.offer, installed: question.app, history: UpdateHistory(), now: Date())
    try console.print(Report(decision, answer)) {
      let name = (answer.listing?.trackName ?? question.shown).printable(limit: 200)
      console.print(sentence(decision, name, answer))
      if decision.action != .noAction {
        if let link = decision.downloadURL { console.print(link.absoluteString) }
        if let refusal = policy.refusal(ofLinkIn: answer.offer) { console.note("\(refusal)") }
      }
    }
    return decision.action == .noAction && arguments.has("--require-update") ? .nothingToDo : .done
  }

  private struct Report: Encodable {
    let action: String
    let reason: String
    let installed: String
    let offered: String?
    let level: String?
    let found: AppUpdateQuestion.Answer.Place
    let country: String?
    let name: String?
    let bundleIdentifier: String?
    let appleID: Int64?
    let downloadURL: String?
    let releaseDate: Date?
    let releaseNotes: String?
    let minimumSystem: String?

    init(_ decision: UpdateDecision, _ answer: AppUpdateQuestion.Answer) {
      action = decision.action.rawValue
      reason = decision.reason.name
      installed = decision.installed.rawValue
      offered = answer.offer.versionText
      level = decision.offered?.difference(from: decision.installed)?.rawValue
      found = answer.found
      country = answer.country?.rawValue
      name = answer.listing?.trackName
      bundleIdentifier = answer.listing?.bundleID
      appleID = answer.listing?.trackID?.rawValue
      downloadURL = decision.downloadURL?.absoluteString
      releaseDate = answer.offer.releaseDate
      releaseNotes = decision.releaseNotes
      minimumSystem = answer.offer.minimumOSVersion?.rawValue
    }
  }

  private static func sentence(
    _ decision: UpdateDecision, _ name: String, _ answer: AppUpdateQuestion.Answer
  ) -> String {
    let installed = "installed is \(decision.installed)"
    let version = answer.offer.versionText.map { "\(name) \($0)" } ?? "A newer version of \(name)"
    let country =
      answer.found == .elsewhere ? ", in \(answer.country?.rawValue ?? "") only" : ""
    switch (decision.action, decision.reason) {
    case (.force, _): return "\(version) is required\(country); \(installed)."
    case (.remind, _): return "\(version) is available\(country); \(installed)."
    case (.noAction, .systemTooOld(let needed)):
      return "\(version) needs system \(needed) and cannot be installed here."
    case (.noAction, .versionInvalid): return "\(name) is offered without a readable version."
    case (.noAction, .offerIsOlder):
      return
        "\(version) is offered\(country), older than the installed \(decision.installed)."
    case (.noAction, _): return "\(name) \(decision.installed) is up to date."
    }
  }
}
