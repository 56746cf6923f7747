public import FoundationEssentials

/// A push that requires an update, as received by the app.
public struct UpdatePush: Hashable, Sendable, CustomStringConvertible {
  /// The default type of such a push.
  public static let defaultType = "mddy_needUpgrade"

  /// The push's type.
  public let type: String?
  /// The account of the push.
  public let account: AccountID?
  /// The link to the update; nil if it is not permitted.
  ///
  /// A permitted link is secure and leads to a store or a web page. `itms-services` is not
  /// permitted here; only a policy can permit it.
  public var downloadURL: URL? { try? link?.permitted() }
  /// The link to the update, unchecked.
  let link: DownloadLink?
  /// The required version, if the push has one.
  public let version: AppVersion?

  /// Reads the fields `type`, `account`, `downloadUrl` and `version` of a payload.
  public init(fields: [String: JSONValue]) {
    type = fields["type"]?.stringValue
    account = fields["account"]?.stringValue.map(AccountID.init(rawValue:))
    link = DownloadLink(fields["downloadUrl"])
    version = fields["version"]?.versionValue
  }

  /// Reads a payload of at most 64 KiB.
  ///
  /// Throws `answerUnreadable` if it is larger or is not JSON.
  public init(json bytes: [UInt8]) throws {
    let document = try JSONValue(answer: bytes, limit: 64 << 10, source: "push")
    self.init(fields: document.members ?? [:])
  }

  /// The type, the account and the version, such as `mddy_needUpgrade for alice: 2.0`.
  public var description: String {
    let receiver = account.map { " for \($0)" } ?? ""
    return "\(type ?? "push without a type")\(receiver)\(version.map { ": \($0)" } ?? "")"
  }
}

/// The result of a push.
public enum PushOutcome: Hashable, Sendable, CustomStringConvertible {
  /// The gate is closed. The decision has the link to the update, if a permitted one is known.
  case remembered(UpdateDecision)
  /// Nothing changed.
  case ignored(Reason)

  /// The reason why a push is ignored.
  public enum Reason: String, Codable, Sendable, PrintedAsRawValue {
    /// The type is for another receiver.
    case otherType
    /// The push has no account.
    case withoutAccount
    /// The push is for another account.
    case otherAccount
    /// The required version is installed, or for a push without one, the highest known version.
    case upToDate
  }

  /// The outcome and its decision or reason, such as `ignored: otherAccount`.
  public var description: String {
    switch self {
    case .remembered(let decision): "remembered: \(decision)"
    case .ignored(let reason): "ignored: \(reason)"
    }
  }
}
