public import FoundationEssentials

/// What one's own server says about the app's version, for instance in its reply to a login.
///
/// `hasNewVersion` and `needUpgrade` may be booleans, numbers or texts; what is missing is false.
public struct AppVersionAnswer: Hashable, Sendable {
  /// The fields as they came, known and unknown.
  public let fields: [String: JSONField]

  /// Reads an answer out of a reply's fields.
  public init(fields: [String: JSONField]) { self.fields = fields }

  /// Reads an answer of at most 1 MiB; throws `answerUnreadable`.
  public init(json bytes: [UInt8], source: String = "app-version") throws {
    guard let fields = try JSONField(document: bytes, limit: 1 << 20, source: source).members
    else {
      throw ContentError(
        .answerUnreadable, "The answer about the app's version is no JSON object",
        remedy: "Check the server", subject: source)
    }
    self.fields = fields
  }

  /// Makes an answer as a server writes it.
  public init(
    hasNewVersion: Bool, needUpgrade: Bool, downloadURL: URL? = nil, version: AppVersion? = nil,
    releaseNotes: String? = nil
  ) {
    var fields: [String: JSONField] = [
      "hasNewVersion": .truth(hasNewVersion), "needUpgrade": .truth(needUpgrade),
    ]
    fields["downloadUrl"] = downloadURL.map { .text($0.absoluteString) }
    fields["version"] = version.map { .text($0.rawValue) }
    fields["releaseNotes"] = releaseNotes.map(JSONField.text)
    self.fields = fields
  }

  /// Whether a newer version is there.
  public var hasNewVersion: Bool { fields["hasNewVersion"]?.bool ?? false }
  /// Whether the app may not go on without it.
  public var needUpgrade: Bool { fields["needUpgrade"]?.bool ?? false }
  /// Where to get it; nil also for a link that is not secure or leads neither to a store nor to a
  /// web page, and for `itms-services`, which only a policy can allow.
  public var downloadURL: URL? { try? link?.permitted() }
  /// Where to get it, as the server says.
  var link: DownloadLink? { DownloadLink(fields["downloadUrl"]) }
  /// The newest version, where the server says it.
  public var version: AppVersion? { versionText.flatMap { try? AppVersion($0) } }
  /// The newest version's text as it came.
  public var versionText: String? { fields["version"]?.string }
  /// What is new, where the server says it.
  public var releaseNotes: String? { fields["releaseNotes"]?.string }
  /// The oldest system that runs it, where the server says it.
  public var minimumOsVersion: AppVersion? {
    fields["minimumOsVersion"]?.string.flatMap { try? AppVersion($0) }
  }

  /// What the server asks for; `needUpgrade` is stronger than `hasNewVersion`.
  public var demand: UpdateDecision.Action {
    needUpgrade ? .force : hasNewVersion ? .remind : .none
  }
}

extension AppVersionAnswer: Codable {
  /// Reads an object of any fields.
  public init(from decoder: any Decoder) throws {
    fields = try decoder.singleValueContainer().decode([String: JSONField].self)
  }

  /// Writes the fields as they came.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(fields)
  }
}
