public import FoundationEssentials

extension AppUpdatePolicy {
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

/// The state of one decision.
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
