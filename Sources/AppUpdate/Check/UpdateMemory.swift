import FoundationEssentials

/// What must survive a restart.
struct UpdateMemory: Codable, Hashable, Sendable {
  /// The account that logged in last; pushes for others are ignored.
  var account: String?
  /// When a look succeeded last.
  var lastLook: Date?
  /// What decisions must know of the past.
  var history = UpdateHistory()
  /// What must be met before the app may go on; one requirement for each origin and account.
  private(set) var requirements: [UpdateRequirement] = []

  /// More accounts than any device has; beyond that the account's requirement that is oldest goes.
  private static let requirementLimit = 16

  /// The requirement of exactly this origin and account.
  func requirement(_ origin: UpdateOffer.Origin, account: String?) -> UpdateRequirement? {
    requirements.first { $0.origin == origin && $0.account == account }
  }

  /// Adds a requirement, or replaces the one of the same origin and account.
  mutating func require(_ requirement: UpdateRequirement) {
    let isSame = { (other: UpdateRequirement) in
      other.origin == requirement.origin && other.account == requirement.account
    }
    if let index = requirements.firstIndex(where: isSame) {
      requirements[index] = requirement
      return
    }
    requirements.append(requirement)
    if requirements.count > Self.requirementLimit,
      let oldest = requirements.firstIndex(where: { $0.account != nil })
    {
      requirements.remove(at: oldest)
    }
  }

  /// Removes what `origin` required of `account` and of everyone.
  mutating func withdraw(_ origin: UpdateOffer.Origin, account: String?) {
    requirements.removeAll {
      $0.origin == origin && ($0.account == nil || $0.account == account)
    }
  }

  /// Removes what `version` meets.
  mutating func removeRequirements(metBy version: AppVersion) {
    requirements.removeAll { $0.isMet(by: version) }
  }

  /// Judges each remembered link again.
  mutating func replaceLinks(_ replacement: (URL) -> URL?) {
    for index in requirements.indices {
      requirements[index].decision.downloadURL =
        requirements[index].decision.downloadURL.flatMap(replacement)
    }
  }
}

/// That the app may not go on until it is updated.
struct UpdateRequirement: Codable, Hashable, Sendable {
  /// Who demands it; only the same one can withdraw it.
  let origin: UpdateOffer.Origin
  /// The account that it was demanded for; nil for all.
  let account: String?
  /// The oldest version that meets it; nil for any that is newer than the one that ran then.
  let needed: AppVersion?
  /// What is told to whoever is refused.
  var decision: UpdateDecision

  init(_ decision: UpdateDecision, origin: UpdateOffer.Origin, account: String?) {
    self.origin = origin
    self.account = account
    self.decision = decision
    needed =
      switch decision.reason {
      case .belowMinimum(let minimum): minimum
      case .blockedVersion: nil
      default: decision.offered
      }
  }

  /// Whether it asks for less than `other`; one without a version asks for less than any other.
  func isLower(than other: UpdateRequirement) -> Bool {
    guard let needed else { return other.needed != nil }
    return other.needed.map { needed < $0 } ?? false
  }

  /// Whether `installed` is what was demanded.
  func isMet(by installed: AppVersion) -> Bool {
    needed.map { installed >= $0 } ?? (installed > decision.installed)
  }
}
