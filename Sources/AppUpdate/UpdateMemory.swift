import FoundationEssentials

/// What must survive a restart.
struct UpdateMemory: Codable, Hashable, Sendable {
  /// The account that logged in last; pushes for others are ignored.
  var account: String?
  /// When a look succeeded last.
  var lastLook: Date?
  /// What decisions must know of the past.
  var history = UpdateHistory()
  /// Set while the app may not go on.
  var requirement: UpdateRequirement?
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
      if case .belowMinimum(let minimum) = decision.reason { minimum } else { decision.offered }
  }

  /// Whether `installed` is what was demanded.
  func isMet(by installed: AppVersion) -> Bool {
    needed.map { installed >= $0 } ?? (installed > decision.installed)
  }
}
