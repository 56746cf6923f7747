public import FoundationEssentials

/// What is to be done about the app's version, and why.
public struct UpdateDecision: Codable, Hashable, Sendable {
  /// What is to be done.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// The user is asked, and may go on without it.
    case remind
    /// Core operations are refused until the app is updated.
    case force
  }

  /// Why.
  public enum Reason: Codable, Hashable, Sendable {
    /// The installed version is the one that is offered.
    case upToDate
    /// The installed version is newer than the one that is offered, as in review or development.
    case offerIsOlder
    /// No storefront that was asked offers the app.
    case notOffered
    /// The offer's version is missing or is none.
    case versionUnreadable
    /// The offer is older than one that was seen before; it is refused and reported.
    case versionWentDown(from: AppVersion)
    /// The offered version needs a newer system, so that it cannot be installed here.
    case systemTooOld(needed: AppVersion)
    /// The offered version is too young for the policy.
    case releasedRecently(until: Date)
    /// The rule of this level of update says that nothing is done.
    case levelIgnored(AppVersion.Level)
    /// The user chose to skip this version.
    case skipped
    /// The user was asked a short while ago.
    case remindedRecently(until: Date)
    /// The server says that there is nothing newer.
    case serverHasNone
    /// The server's reply said nothing about versions.
    case serverSilent
    /// Another account logged in while the server was asked.
    case accountChanged
    /// It was looked a short while ago.
    case lookedRecently(until: Date)
    /// It could not be looked; the error was reported.
    case lookFailed
    /// The call was cancelled before the look ended.
    case cancelled
    /// A newer version is offered.
    case newVersion(AppVersion.Level)
    /// The installed version is older than the oldest one that is supported.
    case belowMinimum(AppVersion)
    /// The installed version is one of those that must not be used any longer.
    case blockedVersion
    /// The server says that there is a newer version.
    case serverOffers
    /// The server says that the app may not go on.
    case serverDemands
    /// A push said that the app may not go on.
    case pushDemands
  }

  /// What is to be done.
  public let action: Action
  /// Why.
  public let reason: Reason
  /// The version that runs.
  public let installed: AppVersion
  /// The version that is offered; nil where none is known.
  public let offered: AppVersion?
  /// Where to get it; nil where no link is known that may be opened.
  public internal(set) var downloadURL: URL?
  /// What is new in it, at most 8,000 bytes.
  public let releaseNotes: String?
  /// Whether the user may skip this version; never when forced.
  public let allowsSkip: Bool

  init(
    _ action: Action, _ reason: Reason, installed: AppVersion, offer: UpdateOffer? = nil,
    allowsSkip: Bool = false
  ) {
    self.action = action
    self.reason = reason
    self.installed = installed
    offered = offer?.version
    downloadURL = offer?.downloadURL
    releaseNotes = offer?.releaseNotes.map { $0.bounded(to: 8000) }
    // Without a version there is nothing that a choice could be remembered for.
    self.allowsSkip = allowsSkip && action == .remind && offer?.version != nil
  }
}

extension UpdateDecision.Reason {
  /// The reason's name without its values, stable for logs and scripts.
  public var name: String {
    switch self {
    case .upToDate: "upToDate"
    case .offerIsOlder: "offerIsOlder"
    case .notOffered: "notOffered"
    case .versionUnreadable: "versionUnreadable"
    case .versionWentDown: "versionWentDown"
    case .systemTooOld: "systemTooOld"
    case .releasedRecently: "releasedRecently"
    case .levelIgnored: "levelIgnored"
    case .skipped: "skipped"
    case .remindedRecently: "remindedRecently"
    case .serverHasNone: "serverHasNone"
    case .serverSilent: "serverSilent"
    case .accountChanged: "accountChanged"
    case .lookedRecently: "lookedRecently"
    case .lookFailed: "lookFailed"
    case .cancelled: "cancelled"
    case .newVersion: "newVersion"
    case .belowMinimum: "belowMinimum"
    case .blockedVersion: "blockedVersion"
    case .serverOffers: "serverOffers"
    case .serverDemands: "serverDemands"
    case .pushDemands: "pushDemands"
    }
  }
}

extension String {
  /// The text's beginning of at most `limit` bytes of UTF-8, cut between two scalars.
  func bounded(to limit: Int) -> String {
    guard var end = utf8.index(startIndex, offsetBy: limit, limitedBy: endIndex) else {
      return self
    }
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}
