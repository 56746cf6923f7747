/// Receives the events of a checker.
///
/// The checker holds it weakly. All calls come on the checker's delivery queue, one at a time, in
/// the order of the events, and without a lock. The default implementations do nothing.
public protocol AppUpdateObserver: AnyObject, Sendable {
  /// Show a prompt to the user. Report the choice to `AppUpdateChecker.choose(_:in:)`.
  func appUpdateChecker(_ checker: AppUpdateChecker, shouldPresent prompt: UpdatePrompt)

  /// A check, a foreground or a login ended with this decision.
  func appUpdateChecker(_ checker: AppUpdateChecker, didDecide decision: UpdateDecision)

  /// The gate is closed: new core operations are refused. Running operations continue.
  ///
  /// Comes again if another update is required while it is closed.
  func appUpdateChecker(_ checker: AppUpdateChecker, didCloseGate decision: UpdateDecision)

  /// The gate is open again.
  func appUpdateCheckerDidOpenGate(_ checker: AppUpdateChecker)

  /// A lookup, a file operation or a decoding failed, or the offered version decreased.
  func appUpdateChecker(_ checker: AppUpdateChecker, didFailWith error: ContentError)
}

extension AppUpdateObserver {
  /// Does nothing.
  public func appUpdateChecker(_ checker: AppUpdateChecker, shouldPresent prompt: UpdatePrompt) {}

  /// Does nothing.
  public func appUpdateChecker(_ checker: AppUpdateChecker, didDecide decision: UpdateDecision) {}

  /// Does nothing.
  public func appUpdateChecker(
    _ checker: AppUpdateChecker, didCloseGate decision: UpdateDecision
  ) {}

  /// Does nothing.
  public func appUpdateCheckerDidOpenGate(_ checker: AppUpdateChecker) {}

  /// Does nothing.
  public func appUpdateChecker(_ checker: AppUpdateChecker, didFailWith error: ContentError) {}
}

/// An event of a checker, with the same meaning as the call of an observer.
public enum AppUpdateEvent: Hashable, Sendable, CustomStringConvertible {
  /// Show a prompt to the user.
  case prompt(UpdatePrompt)
  /// A check, a foreground or a login ended with this decision.
  case decided(UpdateDecision)
  /// The gate is closed: new core operations are refused.
  case gateClosed(UpdateDecision)
  /// The gate is open again.
  case gateOpened
  /// A lookup, a file operation or a decoding failed, or the offered version decreased.
  case failed(ContentError)

  /// The event and its value in one line.
  public var description: String {
    switch self {
    case .prompt(let prompt): "prompt: \(prompt)"
    case .decided(let decision): "decided: \(decision)"
    case .gateClosed(let decision): "gate closed: \(decision)"
    case .gateOpened: "gate opened"
    case .failed(let error): "failed: \(error)"
    }
  }
}
