public import FoundationEssentials

/// The answer of your own server about the app's version, for example in its reply to a login.
///
/// In JSON, `hasNewVersion` and `needUpgrade` can be booleans, numbers or texts. Missing values are
/// false.
public struct AppVersionAnswer: Hashable, Sendable, CustomStringConvertible, Codable {
  /// All fields, known and unknown.
  public let fields: [String: JSONValue]

  /// Reads an answer from a reply's fields.
  public init(fields: [String: JSONValue]) { self.fields = fields }

  /// Reads an answer of at most 1 MiB.
  ///
  /// Throws `answerUnreadable` if it is larger or is not a JSON object. `source` is the subject of
  /// the error.
  public init(json bytes: [UInt8], source: String = "app-version") throws {
    guard let fields = try JSONValue(answer: bytes, limit: 1 << 20, source: source).members else {
      throw ContentError(
        .answerUnreadable, "The answer about the app's version is not a JSON object",
        remedy: "Check the server", subject: source)
    }
    self.fields = fields
  }

  /// Creates an answer in the server's format.
  public init(
    hasNewVersion: Bool, requiresUpdate: Bool, downloadURL: URL? = nil,
    version: AppVersion? = nil, releaseNotes: String? = nil
  ) {
    var fields: [String: JSONValue] = [
      "hasNewVersion": .bool(hasNewVersion), "needUpgrade": .bool(requiresUpdate),
    ]
    fields["downloadUrl"] = downloadURL.map { .string($0.absoluteString) }
    fields["version"] = version.map { .string($0.rawValue) }
    fields["releaseNotes"] = releaseNotes.map(JSONValue.string)
    self.fields = fields
  }

  /// Whether there is a newer version.
  public var hasNewVersion: Bool { fields["hasNewVersion"]?.boolValue ?? false }
  /// Whether the update is required (`needUpgrade`).
  public var requiresUpdate: Bool { fields["needUpgrade"]?.boolValue ?? false }
  /// The link to the update; nil if it is not permitted.
  ///
  /// A permitted link is secure and leads to a store or a web page. `itms-services` is not
  /// permitted here; only a policy can permit it.
  public var downloadURL: URL? { try? link?.permitted() }
  /// The link to the update, unchecked.
  var link: DownloadLink? { DownloadLink(fields["downloadUrl"]) }
  /// The newest version, if the server sends it.
  public var version: AppVersion? { fields["version"]?.versionValue }
  /// The text of the newest version.
  public var versionText: String? { fields["version"]?.stringValue }
  /// The release notes, if the server sends them.
  public var releaseNotes: String? { fields["releaseNotes"]?.stringValue }
  /// The minimum version of the operating system, if the server sends it.
  public var minimumOSVersion: AppVersion? { fields["minimumOsVersion"]?.versionValue }

  /// The requested action.
  ///
  /// `requiresUpdate` has priority over `hasNewVersion`.
  public var requestedAction: UpdateDecision.Action {
    requiresUpdate ? .force : hasNewVersion ? .remind : .noAction
  }

  /// All fields as JSON.
  public var description: String { JSONValue.object(fields).description }

  /// Reads an object with any fields.
  public init(from decoder: any Decoder) throws {
    fields = try decoder.singleValueContainer().decode([String: JSONValue].self)
  }

  /// Writes the fields unchanged.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(fields)
  }
}
