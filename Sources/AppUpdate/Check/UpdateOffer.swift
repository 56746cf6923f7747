public import FoundationEssentials

/// A version that a store or your own server offers.
public struct UpdateOffer: Hashable, Sendable, CustomStringConvertible {
  /// The origin of an offer.
  ///
  /// Versions of different origins are not compared.
  public enum Origin: String, Codable, Sendable, PrintedAsRawValue {
    /// A store's lookup. The policy decides.
    case store
    /// Your own server. `requestedAction` decides.
    case server
  }

  /// The origin.
  public let origin: Origin
  /// The text of the version; nil if a server does not send one.
  public internal(set) var versionText: String?
  /// The release date of the version; nil counts as long ago.
  public internal(set) var releaseDate: Date?
  /// The minimum version of the operating system.
  public let minimumOSVersion: AppVersion?
  /// The link from the origin.
  ///
  /// A decision only has it if it is secure and permitted.
  public internal(set) var downloadURL: URL?
  /// The release notes.
  public let releaseNotes: String?
  /// The action that a server requests; `noAction` for a store.
  public let requestedAction: UpdateDecision.Action
  /// Whether a server explicitly says that no update is required (`needUpgrade` is false).
  let isExplicitlyOptional: Bool

  /// The version; nil if the text is missing or invalid.
  public var version: AppVersion? { versionText.flatMap { try? AppVersion(validating: $0) } }

  /// Creates the offer of a lookup result.
  public init(_ listing: AppListing) {
    origin = .store
    versionText = listing.versionText
    releaseDate = listing.currentVersionReleaseDate
    minimumOSVersion = listing.minimumOSVersion
    downloadURL = DownloadLink(listing.trackViewURL)?.url
    releaseNotes = listing.releaseNotes
    requestedAction = .noAction
    isExplicitlyOptional = false
  }

  /// Creates the offer of your own server.
  public init(_ answer: AppVersionAnswer) {
    origin = .server
    versionText = answer.versionText
    releaseDate = nil
    minimumOSVersion = answer.minimumOSVersion
    downloadURL = answer.link?.url
    releaseNotes = answer.releaseNotes
    requestedAction = answer.requestedAction
    isExplicitlyOptional = answer.fields["needUpgrade"]?.boolValue == false
  }

  /// The origin, the version and the requested action, such as `server: 2.0, remind`.
  public var description: String {
    let action = requestedAction == .noAction ? "" : ", \(requestedAction)"
    return "\(origin): \(versionText ?? "unknown version")\(action)"
  }
}
