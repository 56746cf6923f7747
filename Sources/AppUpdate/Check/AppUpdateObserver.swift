/// Who is told what a checker finds.
///
/// Held weakly. All calls come on the checker's delivery queue, one after the other, in the order
/// in which things happened, never under a lock. Every method has a default that does nothing.
public protocol AppUpdateObserver: AnyObject, Sendable {
  /// The user is to be asked; the observer shows the prompt where and how it wants, and tells
  /// `AppUpdateChecker.choose(_:in:)` what was chosen.
  func appUpdateChecker(_ checker: AppUpdateChecker, shouldPresent prompt: UpdatePrompt)

  /// A look, a foreground or a log-in ended with this decision.
  func appUpdateChecker(_ checker: AppUpdateChecker, didDecide decision: UpdateDecision)

  /// The gate refuses core operations from now on; what is under way goes on.
  func appUpdateChecker(_ checker: AppUpdateChecker, didCloseGate decision: UpdateDecision)

  /// The gate refuses no more.
  func appUpdateCheckerDidOpenGate(_ checker: AppUpdateChecker)

  /// Something could not be looked up, read or written down, or a version went down.
  func appUpdateChecker(_ checker: AppUpdateChecker, didFailWith error: ContentError)
}

extension AppUpdateObserver {
  /// Does nothing.
  public func appUpdateChecker(
    _ checker: AppUpdateChecker, shouldPresent prompt: UpdatePrompt
  ) {}

  /// Does nothing.
  public func appUpdateChecker(
    _ checker: AppUpdateChecker, didDecide decision: UpdateDecision
  ) {}

  /// Does nothing.
  public func appUpdateChecker(
    _ checker: AppUpdateChecker, didCloseGate decision: UpdateDecision
  ) {}

  /// Does nothing.
  public func appUpdateCheckerDidOpenGate(_ checker: AppUpdateChecker) {}

  /// Does nothing.
  public func appUpdateChecker(_ checker: AppUpdateChecker, didFailWith error: ContentError) {}
}

/// What an observer is told, as a value.
public enum AppUpdateEvent: Hashable, Sendable {
  /// The user is to be asked.
  case prompt(UpdatePrompt)
  /// A look, a foreground or a log-in ended with this decision.
  case decided(UpdateDecision)
  /// The gate refuses core operations from now on.
  case gateClosed(UpdateDecision)
  /// The gate refuses no more.
  case gateOpened
  /// Something could not be done.
  case failed(ContentError)
}
