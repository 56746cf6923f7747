public import FoundationEssentials

/// The rules that map an offered version to no action, remind or force.
///
/// Pure: it has no clock. In JSON, only `minimumSupportedVersion` can be missing.
public struct AppUpdatePolicy: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The frequency of reminders.
  public enum Frequency: Hashable, Sendable, CustomStringConvertible, Codable {
    /// At each check.
    case immediately
    /// At most once in 24 hours.
    case daily
    /// At most once in 7 days.
    case weekly
    /// At most once in this time. A negative time is zero.
    case every(Duration)

    /// The minimum time between two reminders, at least zero.
    var interval: Duration {
      switch self {
      case .immediately: .zero
      case .daily: .seconds(86_400)
      case .weekly: .seconds(604_800)
      case .every(let interval): max(.zero, interval)
      }
    }

    /// The frequency, such as `daily` or `every 600.0 seconds`.
    public var description: String {
      switch self {
      case .immediately: "immediately"
      case .daily: "daily"
      case .weekly: "weekly"
      case .every(let interval): "every \(interval)"
      }
    }

    /// The form in JSON, such as `{"daily": {}}` and `{"every": {"seconds": 600}}`.
    private enum Stored: Codable {
      case immediately, daily, weekly
      case every(seconds: Double)
    }

    /// The maximum interval to read, 100 years: not every number of seconds is a `Duration`.
    fileprivate static let maximumSeconds = 3_155_760_000.0

    /// Reads the frequency; an interval is in seconds, and at most 100 years.
    public init(from decoder: any Decoder) throws {
      switch try Stored(from: decoder) {
      case .immediately: self = .immediately
      case .daily: self = .daily
      case .weekly: self = .weekly
      case .every(let seconds):
        self = .every(.seconds(min(max(0, seconds), Self.maximumSeconds)))
      }
    }

    /// Writes the frequency; an interval is in seconds.
    public func encode(to encoder: any Encoder) throws {
      let stored: Stored =
        switch self {
        case .immediately: .immediately
        case .daily: .daily
        case .weekly: .weekly
        case .every(let interval): .every(seconds: interval.inSeconds)
        }
      try stored.encode(to: encoder)
    }
  }

  /// The rule for one level of update.
  public struct Rule: Codable, Hashable, Sendable, CustomStringConvertible {
    /// No action, remind or force.
    public var action: UpdateDecision.Action
    /// The frequency of reminders.
    ///
    /// A forced update is presented at each foreground.
    public var frequency: Frequency
    /// Whether the user may skip the version.
    public var allowsSkip: Bool

    /// Creates a rule.
    public init(
      _ action: UpdateDecision.Action, frequency: Frequency = .daily, allowsSkip: Bool = true
    ) {
      self.action = action
      self.frequency = frequency
      self.allowsSkip = allowsSkip
    }

    /// Does nothing.
    public static let ignore = Rule(.noAction)
    /// Reminds at each check.
    ///
    /// Cannot be skipped.
    public static let annoying = Rule(.remind, frequency: .immediately, allowsSkip: false)
    /// Forces the update.
    public static let critical = Rule(.force, frequency: .immediately, allowsSkip: false)
    /// Reminds daily.
    ///
    /// Can be skipped.
    public static let standard = Rule(.remind, frequency: .daily, allowsSkip: true)
    /// Reminds weekly.
    ///
    /// Cannot be skipped.
    public static let hinting = Rule(.remind, frequency: .weekly, allowsSkip: false)
    /// Reminds daily.
    ///
    /// Cannot be skipped.
    public static let persistent = Rule(.remind, frequency: .daily, allowsSkip: false)
    /// Reminds weekly.
    ///
    /// Can be skipped.
    public static let relaxed = Rule(.remind, frequency: .weekly, allowsSkip: true)

    /// The rule in a few words, such as `remind daily, can be skipped`.
    public var description: String {
      action == .remind
        ? "remind \(frequency)\(allowsSkip ? ", can be skipped" : "")" : action.description
    }
  }

  /// The rule if the first number differs.
  public var major: Rule
  /// The rule if the second number differs.
  public var minor: Rule
  /// The rule if the third number differs.
  public var patch: Rule
  /// The rule if a later number differs.
  public var revision: Rule
  /// The rule if only the suffix differs, as from 2.0-beta to 2.0.
  public var suffix: Rule
  /// The rule for a server's `hasNewVersion`.
  ///
  /// Its action is not used.
  public var serverReminder = Rule.standard
  /// Older versions must be updated at once, for any level, if a newer version is offered that the
  /// operating system can run.
  public var minimumSupportedVersion: AppVersion?
  /// Other versions that must be updated like those below the minimum.
  public var blockedVersions: Set<AppVersion> = []
  /// The minimum age of a store's version, because a lookup may list it before all storefronts.
  ///
  /// Negative values count as zero, and it is rounded to seconds, at most 100 years. In JSON, it is
  /// the number of days, `daysSinceRelease`. Default: one day.
  public var minimumReleaseAge: Duration {
    get { .seconds(min(max(0, (daysSinceRelease * 86_400).rounded()), Frequency.maximumSeconds)) }
    set { daysSinceRelease = newValue.inSeconds / 86_400 }
  }
  private var daysSinceRelease: Double
  /// Whether an update link may have the scheme `itms-services`.
  ///
  /// Such a link installs from a manifest on any web server, bypassing the store. The manifest must
  /// have an HTTPS URL. Default: false.
  public var allowsITMSServices = false

  private enum CodingKeys: String, CodingKey {
    case major, minor, patch, revision, suffix, serverReminder
    case minimumSupportedVersion, blockedVersions, daysSinceRelease
    case allowsITMSServices = "allowsItmsServices"
  }

  /// Creates a policy with the same rule for every level.
  public init(
    all rule: Rule = .standard, minimumSupportedVersion: AppVersion? = nil,
    minimumReleaseAge: Duration = .seconds(86_400)
  ) {
    major = rule
    minor = rule
    patch = rule
    revision = rule
    suffix = rule
    self.minimumSupportedVersion = minimumSupportedVersion
    daysSinceRelease = minimumReleaseAge.inSeconds / 86_400
  }

  /// Returns the rule of a level.
  func rule(for level: AppVersion.Level) -> Rule {
    switch level {
    case .major: major
    case .minor: minor
    case .patch: patch
    case .revision: revision
    case .suffix: suffix
    }
  }

  /// The rules of all levels, the minimum and the blocked versions in one line.
  public var description: String {
    var parts = [
      "major: \(major)", "minor: \(minor)", "patch: \(patch)", "revision: \(revision)",
      "suffix: \(suffix)", "server: \(serverReminder)",
    ]
    if let minimumSupportedVersion { parts.append("minimum: \(minimumSupportedVersion)") }
    if !blockedVersions.isEmpty {
      let versions = blockedVersions.sorted().map(\.rawValue).joined(separator: ", ")
      parts.append("blocked: \(versions)")
    }
    return parts.joined(separator: "; ")
  }

  /// Returns the decision about `offer` at `now`.
  ///
  /// Nil means that no storefront offers the app. The decision only has the offer's link if it is
  /// secure and permitted. The first matching reason wins: no offer, no valid version, no newer
  /// version, an explicit requirement of the server, an old operating system, the minimum version,
  /// a blocked version; then a decreased version, a level that the rules ignore, a recent release,
  /// force by the rule, and reasons to delay a reminder.
  public func decision(
    about offer: UpdateOffer?, installed: InstalledApp, history: UpdateHistory, now: Date
  ) -> UpdateDecision {
    guard var offer else {
      return UpdateDecision(.noAction, .notOffered, installed: installed.version)
    }
    offer.downloadURL = link(offer.downloadURL)
    return Judgment(
      policy: self, offer: offer, installed: installed, history: history, now: now
    ).decision
  }
}

/// The past events that a decision needs.
public struct UpdateHistory: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The version that the user skipped.
  public var skippedVersion: AppVersion?
  /// The date of the last reminder.
  public var lastReminder: Date?
  /// The highest version that a store offered.
  public var highestInStore: AppVersion?
  /// The highest version that your own server offered since it last corrected its number.
  public var highestOnServer: AppVersion?

  /// Creates an empty history.
  public init() {}

  private subscript(origin: UpdateOffer.Origin) -> AppVersion? {
    get { origin == .store ? highestInStore : highestOnServer }
    set { if origin == .store { highestInStore = newValue } else { highestOnServer = newValue } }
  }

  var highest: AppVersion? { [highestInStore, highestOnServer].compactMap(\.self).max() }

  /// Returns the highest version from the same origin if the offer is lower; nil otherwise.
  func decrease(to offer: UpdateOffer) -> AppVersion? {
    guard let version = offer.version, let highest = self[offer.origin] else { return nil }
    return version < highest ? highest : nil
  }

  /// Records the offer's version if it is the highest.
  ///
  /// A server that explicitly says whether an update is required replaces the recorded version.
  /// Otherwise, a number that was too high would hide lower versions, and a late push would force
  /// them.
  mutating func note(_ offer: UpdateOffer) {
    guard let version = offer.version else { return }
    let isCorrected = offer.isExplicitlyOptional || offer.requestedAction == .force
    self[offer.origin] = isCorrected ? version : max(version, self[offer.origin] ?? version)
  }

  /// The known values in one line, such as `skipped 2.0, highest in store 2.0`.
  public var description: String {
    let parts = [
      skippedVersion.map { "skipped \($0)" },
      lastReminder.map { "reminded at \($0.formatted(.iso8601))" },
      highestInStore.map { "highest in store \($0)" },
      highestOnServer.map { "highest on server \($0)" },
    ].compactMap(\.self)
    return parts.isEmpty ? "empty history" : parts.joined(separator: ", ")
  }
}

private struct Judgment {
  let policy: AppUpdatePolicy
  let offer: UpdateOffer
  let installed: InstalledApp
  let history: UpdateHistory
  let now: Date

  var decision: UpdateDecision {
    guard let version = offer.version else {
      // A server may omit the version, but a given version must be valid.
      return offer.origin == .server && offer.versionText == nil
        ? ofServer : conclusion(.noAction, .versionInvalid)
    }
    guard let level = version.difference(from: installed.version) else {
      return conclusion(.noAction, .upToDate)
    }
    guard version > installed.version else { return conclusion(.noAction, .offerIsOlder) }
    return offer.origin == .store ? ofStore(level) : ofServer
  }

  private func conclusion(
    _ action: UpdateDecision.Action, _ reason: UpdateDecision.Reason, allowsSkip: Bool = false
  ) -> UpdateDecision {
    UpdateDecision(
      action, reason, installed: installed.version, offer: offer, allowsSkip: allowsSkip)
  }

  private func ofStore(_ level: AppVersion.Level) -> UpdateDecision {
    if let decision = withoutRule { return decision }
    let rule = policy.rule(for: level)
    guard rule.action != .noAction else { return conclusion(.noAction, .levelIgnored(level)) }
    if let until = eligibleDate { return conclusion(.noAction, .releasedRecently(until: until)) }
    guard rule.action == .remind else { return conclusion(.force, .newVersion(level)) }
    return reminder(.newVersion(level), rule)
  }

  private var ofServer: UpdateDecision {
    switch offer.requestedAction {
    case .force: conclusion(.force, .serverRequiresUpdate)
    case .noAction: decrease ?? conclusion(.noAction, .serverHasNoUpdate)
    case .remind: withoutRule ?? reminder(.serverOffersUpdate, policy.serverReminder)
    }
  }

  /// The decision without a rule, or nil.
  private var withoutRule: UpdateDecision? {
    if let system = installed.systemVersion, let needed = offer.minimumOSVersion, system < needed {
      return conclusion(.noAction, .systemTooOld(needed: needed))
    }
    if let minimum = policy.minimumSupportedVersion, installed.version < minimum {
      return conclusion(.force, .belowMinimum(minimum))
    }
    if policy.blockedVersions.contains(installed.version) {
      return conclusion(.force, .blockedVersion)
    }
    return decrease
  }

  /// The decision if the offer is lower than an earlier one from the same origin; nil otherwise.
  private var decrease: UpdateDecision? {
    history.decrease(to: offer).map { conclusion(.noAction, .versionWentDown(from: $0)) }
  }

  private func reminder(
    _ reason: UpdateDecision.Reason, _ rule: AppUpdatePolicy.Rule
  ) -> UpdateDecision {
    if rule.allowsSkip, let version = offer.version, version == history.skippedVersion {
      return conclusion(.noAction, .skipped)
    }
    if let last = history.lastReminder {
      let until = last.addingTimeInterval(rule.frequency.interval.inSeconds)
      // A reminder in the future means that the clock was set back. It must not delay another one.
      if last <= now, now < until { return conclusion(.noAction, .remindedRecently(until: until)) }
    }
    return conclusion(.remind, reason, allowsSkip: rule.allowsSkip)
  }

  /// The date when the offer is old enough; nil if it already is.
  private var eligibleDate: Date? {
    guard let released = offer.releaseDate else { return nil }
    // A release date more than a day ahead is wrong, or the clock is. It must not delay an update.
    guard released <= now.addingTimeInterval(86_400) else { return nil }
    let eligible = released.addingTimeInterval(policy.minimumReleaseAge.inSeconds)
    return now < eligible ? eligible : nil
  }
}
