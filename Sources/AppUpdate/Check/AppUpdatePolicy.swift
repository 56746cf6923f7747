public import FoundationEssentials

/// The rules by which an offered version becomes none, remind or force.
///
/// Pure: it has no clock.
public struct AppUpdatePolicy: Codable, Hashable, Sendable {
  /// How often a user is reminded.
  public enum Frequency: Codable, Hashable, Sendable {
    /// At each look.
    case immediately
    /// At most once in 24 hours.
    case daily
    /// At most once in 7 days.
    case weekly
    /// At most once in this many seconds; negative is 0.
    case every(seconds: Double)

    /// Seconds between two reminders.
    public var seconds: Double {
      switch self {
      case .immediately: 0
      case .daily: 86_400
      case .weekly: 604_800
      case .every(let seconds): max(0, seconds)
      }
    }
  }

  /// What is done about one level of update.
  public struct Rule: Codable, Hashable, Sendable {
    /// None, remind or force.
    public var action: UpdateDecision.Action
    /// How often a reminder comes; force is asked at each foreground.
    public var frequency: Frequency
    /// Whether a reminded version may be skipped.
    public var allowsSkip: Bool

    /// Makes a rule.
    public init(
      _ action: UpdateDecision.Action, _ frequency: Frequency = .daily, allowsSkip: Bool = true
    ) {
      self.action = action
      self.frequency = frequency
      self.allowsSkip = allowsSkip
    }

    /// Nothing is done.
    public static let ignore = Rule(.none)
    /// Reminded at each look; it cannot be skipped.
    public static let annoying = Rule(.remind, .immediately, allowsSkip: false)
    /// Forced.
    public static let critical = Rule(.force, .immediately, allowsSkip: false)
    /// Reminded daily; it can be skipped.
    public static let standard = Rule(.remind, .daily, allowsSkip: true)
    /// Reminded weekly; it cannot be skipped.
    public static let hinting = Rule(.remind, .weekly, allowsSkip: false)
    /// Reminded daily; it cannot be skipped.
    public static let persistent = Rule(.remind, .daily, allowsSkip: false)
    /// Reminded weekly; it can be skipped.
    public static let relaxed = Rule(.remind, .weekly, allowsSkip: true)
  }

  /// The rule of an update whose first number differs.
  public var major: Rule
  /// The rule of an update whose second number differs.
  public var minor: Rule
  /// The rule of an update whose third number differs.
  public var patch: Rule
  /// The rule of an update that differs behind the third number.
  public var revision: Rule
  /// The rule of an update from a version with a suffix to the release of its numbers.
  public var suffix: Rule
  /// The rule of a server's `hasNewVersion`; its action is not asked.
  public var serverReminder: Rule
  /// Whatever is older is forced, at once and whatever the level, if something newer is offered.
  public var minimumSupportedVersion: AppVersion?
  /// Versions that must not be used any longer, if something newer is offered.
  public var blockedVersions: Set<AppVersion> = []
  /// Whole days that a version in the store must be old, since look-ups know it before all have it.
  public var daysSinceRelease: Int
  /// Whether an update may be a link of the scheme `itms-services`.
  ///
  /// Such a link installs what a manifest on any web server names, past the store. Its manifest
  /// must be at an HTTPS URL. Default: false.
  public var allowsItmsServices = false

  /// Makes a policy in which every level has the same rule.
  public init(
    all rule: Rule = .standard, minimumSupportedVersion: AppVersion? = nil,
    daysSinceRelease: Int = 1
  ) {
    major = rule
    minor = rule
    patch = rule
    revision = rule
    suffix = rule
    serverReminder = .standard
    self.minimumSupportedVersion = minimumSupportedVersion
    self.daysSinceRelease = daysSinceRelease
  }

  /// The rule of a level.
  public func rule(for level: AppVersion.Level) -> Rule {
    switch level {
    case .major: major
    case .minor: minor
    case .patch: patch
    case .revision: revision
    case .suffix: suffix
    }
  }
}

/// What a decision must know of the past.
public struct UpdateHistory: Codable, Hashable, Sendable {
  /// The version that the user chose to skip.
  public var skippedVersion: AppVersion?
  /// When the user was reminded last.
  public var lastReminder: Date?
  /// The highest version that a store offered.
  public var highestInStore: AppVersion?
  /// The highest version that one's own server offered since it last corrected its number.
  public var highestOnServer: AppVersion?

  /// Makes the history of an app that was never looked up.
  public init() {}

  /// The highest version that `origin` offered.
  func highest(of origin: UpdateOffer.Origin) -> AppVersion? {
    switch origin {
    case .store: highestInStore
    case .server: highestOnServer
    }
  }

  /// The highest version that anyone offered.
  var highest: AppVersion? { [highestInStore, highestOnServer].compactMap(\.self).max() }

  /// The highest version that the same origin offered, if the offer's is lower.
  func decrease(to offer: UpdateOffer) -> AppVersion? {
    guard let version = offer.version, let highest = highest(of: offer.origin), version < highest
    else { return nil }
    return highest
  }

  /// Remembers the offer's version unless a higher one was seen.
  ///
  /// A server that says explicitly whether an update is required corrects its number. Otherwise a
  /// number that was too high would hide the versions below it, and a late push would force them.
  mutating func note(_ offer: UpdateOffer) {
    guard let version = offer.version else { return }
    let isCorrected = offer.isExplicitlyOptional || offer.demand == .force
    let highest =
      isCorrected ? version : max(version, highest(of: offer.origin) ?? version)
    switch offer.origin {
    case .store: highestInStore = highest
    case .server: highestOnServer = highest
    }
  }
}
