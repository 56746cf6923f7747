import HostedConcurrency
import HostedModel
import HostedTransfer

/// Content to fetch, and who owns it.
struct ContentRequest: Sendable {
  let offer: ContentOffer
  /// Nil for the library's own account.
  var account: AccountID?
  /// Contents that the account needs soon, so that one call can ask for all.
  var ahead: [ContentOffer] = []
}

/// Creates the sources of pieces.
struct ContentSources: Sendable {
  private let store: StoreAccess
  private let replacement: (@Sendable () throws -> any PieceSource)?
  /// Nil if the service does not grant content.
  let grants: ContentGrantBook?

  /// Creates the sources of `store`, with the grants of the first service that grants content.
  ///
  /// `replacement` is used instead of the store.
  init(
    of store: StoreAccess, services: [any StoreService], clock: EngineClock = .system,
    replacement: (@Sendable () throws -> any PieceSource)? = nil
  ) {
    self.store = store
    self.replacement = replacement
    grants = services.lazy.compactMap { $0 as? any ContentGranting }.first.map {
      ContentGrantBook($0, uptime: clock.uptime)
    }
  }

  /// Returns the source for one transfer.
  ///
  /// Throws `storeMissing` if the store's folder does not exist.
  func source(for request: ContentRequest) throws -> any PieceSource {
    try replacement?() ?? store.pieceSource(grants?.access(to: request))
  }
}
