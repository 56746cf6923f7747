import HostedModel
import FoundationEssentials
import HostedConcurrency

@testable import AppUpdate

/// A source with scripted offers.
final class ScriptedSource: AppUpdateSource {
  private let offer: @Sendable (AccountID?) async throws -> UpdateOffer?
  private let counter = Mutex(0)

  init(_ offer: @escaping @Sendable (AccountID?) async throws -> UpdateOffer?) {
    self.offer = offer
  }

  convenience init(_ listing: AppListing?) {
    self.init { _ in listing.map { UpdateOffer($0) } }
  }

  var looks: Int { counter.withLock { $0 } }

  func newestOffer(
    for app: InstalledApp, account: AccountID?, caching: LookupCachePolicy
  ) async throws -> UpdateOffer? {
    counter.withLock { $0 += 1 }
    return try await offer(account)
  }
}

/// Records events, and the queue of each call.
final class RecordingUpdateObserver: AppUpdateObserver {
  private let heard = Mutex<[AppUpdateEvent]>([])
  private let onEvent: @Sendable (AppUpdateEvent) -> Void

  init(_ onEvent: @escaping @Sendable (AppUpdateEvent) -> Void = { _ in }) {
    self.onEvent = onEvent
  }

  var events: [AppUpdateEvent] { heard.withLock { $0 } }

  private func hear(_ event: AppUpdateEvent) {
    heard.withLock { $0.append(event) }
    onEvent(event)
  }

  func appUpdateChecker(_ checker: AppUpdateChecker, shouldPresent prompt: UpdatePrompt) {
    hear(.prompt(prompt))
  }
  func appUpdateChecker(_ checker: AppUpdateChecker, didDecide decision: UpdateDecision) {
    hear(.decided(decision))
  }
  func appUpdateChecker(_ checker: AppUpdateChecker, didCloseGate decision: UpdateDecision) {
    hear(.gateClosed(decision))
  }
  func appUpdateCheckerDidOpenGate(_ checker: AppUpdateChecker) { hear(.gateOpened) }
  func appUpdateChecker(_ checker: AppUpdateChecker, didFailWith error: ContentError) {
    hear(.failed(error))
  }
}
