public import FoundationEssentials

/// A version that a store or one's own server offers, as a policy judges it.
public struct UpdateOffer: Hashable, Sendable {
  /// Who offers it; the two never judge each other's numbers.
  public enum Origin: String, Codable, Sendable {
    /// A look-up in a store; the policy decides.
    case store
    /// One's own server; `demand` decides.
    case server
  }

  /// Who offers it.
  public var origin: Origin
  /// The version's text as it came; nil where a server says none.
  public var versionText: String?
  /// When the version was released; nil is long ago.
  public var releaseDate: Date?
  /// The oldest system that runs it.
  public var minimumSystem: AppVersion?
  /// Where to get it, as who offers it says; a decision has it only if it is secure and allowed.
  public var downloadURL: URL?
  /// What is new in it.
  public var releaseNotes: String?
  /// What a server asks for; a store asks for nothing.
  public var demand: UpdateDecision.Action
  /// Whether a server says explicitly that no update is required (`needUpgrade` is false).
  public var isExplicitlyOptional: Bool

  /// The version; nil for none and for a text that is none.
  public var version: AppVersion? { versionText.flatMap { try? AppVersion($0) } }

  /// The offer of a look-up's result.
  public init(_ listing: AppListing) {
    origin = .store
    versionText = listing.versionText
    releaseDate = listing.currentVersionReleaseDate
    minimumSystem = listing.minimumOsVersion
    downloadURL = DownloadLink(listing.trackViewURL)?.url
    releaseNotes = listing.releaseNotes
    demand = .none
    isExplicitlyOptional = false
  }

  /// The offer of one's own server.
  public init(_ answer: AppVersionAnswer) {
    origin = .server
    versionText = answer.versionText
    releaseDate = nil
    minimumSystem = answer.minimumOsVersion
    downloadURL = answer.link?.url
    releaseNotes = answer.releaseNotes
    demand = answer.demand
    isExplicitlyOptional = answer.fields["needUpgrade"]?.bool == false
  }
}
