public import FoundationEssentials

/// A push that says that the app may not go on, as a caller hands it in.
public struct UpdatePush: Hashable, Sendable {
  /// The type by which such a push is known.
  public static let defaultType = "mddy_needUpgrade"

  /// The push's type.
  public let type: String?
  /// The account that it is for.
  public let account: String?
  /// Where to get the update; nil also for a link that is not secure or leads neither to a store
  /// nor to a web page, and for `itms-services`, which only a policy can allow.
  public var downloadURL: URL? { try? link?.permitted() }
  /// Where to get the update, as the push says.
  let link: DownloadLink?
  /// The version that is needed, where the push says it.
  public let version: AppVersion?

  /// Reads a payload's fields `type`, `account`, `downloadUrl` and `version`.
  public init(fields: [String: JSONField]) {
    type = fields["type"]?.string
    account = fields["account"]?.string
    link = DownloadLink(fields["downloadUrl"])
    version = fields["version"]?.string.flatMap { try? AppVersion($0) }
  }

  /// Reads a payload of at most 64 KiB; throws `answerUnreadable`.
  public init(json bytes: [UInt8]) throws {
    let document = try JSONField(document: bytes, limit: 64 << 10, source: "push")
    self.init(fields: document.members ?? [:])
  }
}

/// What became of a push.
public enum PushOutcome: Hashable, Sendable {
  /// The gate is closed; the decision says where the update is.
  case remembered(UpdateDecision)
  /// Nothing has changed.
  case ignored(Reason)

  /// Why a push changes nothing.
  public enum Reason: String, Codable, Sendable {
    /// It is of another type, for somebody else to read.
    case otherType
    /// It names no account.
    case withoutAccount
    /// It is for another account than the one that is logged in.
    case otherAccount
    /// The version that it asks for is installed.
    case upToDate
  }
}
