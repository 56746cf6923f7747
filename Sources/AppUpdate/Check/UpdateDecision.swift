public import FoundationEssentials

/// The decision about an app's version, with its reason.
public struct UpdateDecision: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The action.
  public enum Action: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
    /// Do nothing (`none` in JSON).
    case noAction = "none"
    /// Ask the user, who may continue without the update.
    case remind
    /// Refuse core operations until the app is updated.
    case force
  }

  /// The reason for the action.
  public enum Reason: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The offered version is installed.
    case upToDate
    /// The installed version is newer than the offer, for example in review or development.
    case offerIsOlder
    /// No requested storefront offers the app.
    case notOffered
    /// The offer's version is missing or invalid.
    case versionInvalid
    /// The offer is older than an earlier offer. It is refused and reported.
    case versionWentDown(from: AppVersion)
    /// The offered version needs a newer operating system.
    case systemTooOld(needed: AppVersion)
    /// The offered version is too recent for the policy.
    case releasedRecently(until: Date)
    /// The rule of this level is to do nothing.
    case levelIgnored(AppVersion.Level)
    /// The user skipped this version.
    case skipped
    /// The user was reminded recently.
    case remindedRecently(until: Date)
    /// The server has no newer version.
    case serverHasNoUpdate
    /// The server's reply did not contain an answer.
    case serverDidNotAnswer
    /// Another account logged in during the request.
    case accountChanged
    /// The last check is recent.
    case checkedRecently(until: Date)
    /// The check failed. The error was reported.
    case checkFailed
    /// The call was canceled before the check ended.
    case cancelled
    /// A newer version is offered.
    case newVersion(AppVersion.Level)
    /// The installed version is older than the minimum version.
    case belowMinimum(AppVersion)
    /// The installed version is blocked.
    case blockedVersion
    /// The server offers a newer version.
    case serverOffersUpdate
    /// The server requires the update.
    case serverRequiresUpdate
    /// A push requires the update.
    case pushRequiresUpdate

    /// The name of the case without its values, as in JSON, for logs and scripts.
    public var name: String { String(description.prefix { $0 != "(" }) }

    /// The name of the case and its values, such as `newVersion(minor)`.
    public var description: String {
      switch self {
      case .upToDate: "upToDate"
      case .offerIsOlder: "offerIsOlder"
      case .notOffered: "notOffered"
      case .versionInvalid: "versionInvalid"
      case .versionWentDown(let version): "versionWentDown(from: \(version))"
      case .systemTooOld(let version): "systemTooOld(needed: \(version))"
      case .releasedRecently(let date): "releasedRecently(until: \(date.formatted(.iso8601)))"
      case .levelIgnored(let level): "levelIgnored(\(level))"
      case .skipped: "skipped"
      case .remindedRecently(let date): "remindedRecently(until: \(date.formatted(.iso8601)))"
      case .serverHasNoUpdate: "serverHasNoUpdate"
      case .serverDidNotAnswer: "serverDidNotAnswer"
      case .accountChanged: "accountChanged"
      case .checkedRecently(let date): "checkedRecently(until: \(date.formatted(.iso8601)))"
      case .checkFailed: "checkFailed"
      case .cancelled: "cancelled"
      case .newVersion(let level): "newVersion(\(level))"
      case .belowMinimum(let version): "belowMinimum(\(version))"
      case .blockedVersion: "blockedVersion"
      case .serverOffersUpdate: "serverOffersUpdate"
      case .serverRequiresUpdate: "serverRequiresUpdate"
      case .pushRequiresUpdate: "pushRequiresUpdate"
      }
    }
  }

  /// The action.
  public let action: Action
  /// The reason.
  public let reason: Reason
  /// The running version.
  public let installed: AppVersion
  /// The offered version; nil if unknown.
  public let offered: AppVersion?
  /// The link to the update; nil if no permitted link is known.
  public internal(set) var downloadURL: URL?
  /// The release notes, at most 8,000 bytes.
  public let releaseNotes: String?
  /// Whether the user may skip this version.
  ///
  /// False if it is forced.
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
    // Without a version, a choice cannot be recorded.
    self.allowsSkip = allowsSkip && action == .remind && offer?.version != nil
  }

  /// The decision in one line, such as `remind: newVersion(minor), installed 1.0, offered 1.1`.
  public var description: String {
    "\(action): \(reason), installed \(installed)" + (offered.map { ", offered \($0)" } ?? "")
  }
}

extension String {
  /// Returns a prefix of at most `limit` bytes of UTF-8, cut between two scalars.
  func bounded(to limit: Int) -> String {
    let end = utf8.index(startIndex, offsetBy: limit, limitedBy: endIndex) ?? endIndex
    // A view of scalars ends before a scalar that its end would cut.
    return String(unicodeScalars[..<end])
  }
}
