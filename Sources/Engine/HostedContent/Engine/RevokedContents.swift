import HostedLibrary
import HostedModel

/// What happens to the installed content of a product that an account has lost.
public enum RevokedContentPolicy: Hashable, Sendable {
  /// It stays installed.
  case keep
  /// It is removed once no account of the library has a grant of the product.
  ///
  /// The accounts are the library's own and those of its transactions, unfinished or finished. The
  /// service is asked for their grants. A version that is leased or that an unfinished transaction
  /// needs is removed later, at the latest after the next start. Pins do not keep it.
  case remove
}

/// Removes the contents of revoked products.
///
/// The journal has the products until then, so that a restart continues.
extension Engine {
  /// Handles the loss of products; calls `onEnd` after it is journaled and reported.
  func handle(_ revocation: Revocation, onEnd: @escaping @Sendable () -> Void) {
    guard revokedContent == .remove else { return delivery.deliverAfterLaunch(onEnd) }
    let products = revocation.productIdentifiers
    seller.run { [weak self] in
      let isJournaled: Void? = await self?.retryingJournal {
        try $0.journal.setRevoked(true, products)
        $0.countRemovals(of: products)
      }
      guard isJournaled != nil else { return }
      self?.delivery.deliverAfterLaunch(onEnd)
      for product in products { self?.removeContents(of: product) }
    }
  }

  /// Continues removals that an earlier queue has not completed.
  func removeRevokedContents() {
    guard revokedContent == .remove else { return }
    seller.run { [weak self] in
      let products = await self?.retryingJournal { engine in
        let products = try engine.journal.revokedProducts()
        engine.countRemovals(of: products)
        return products
      }
      for product in products ?? [] { self?.removeContents(of: product) }
    }
  }

  private func removeContents(of product: ProductIdentifier) {
    seller.run { [weak self] in
      guard let self else { return }
      // Fails because of a lease, for example, or if the service does not respond.
      await retrying {
        if try await !hasGrant(of: product) {
          try await performBlocking { try self.removeVersions(of: product) }
        }
      }
      if await retryingJournal({ try $0.endRemoval(of: product) }) != nil {
        diagnostics.log(.info, "revoked product handled") { ["product": product.rawValue] }
      }
    }
  }

  /// Returns whether an account of this library still has a grant of `product`.
  private func hasGrant(of product: ProductIdentifier) async throws -> Bool {
    let accounts = try await performBlocking { try self.journal.accounts(of: product) }
    for account in accounts.union([nil]) {
      if try await seller.service.latest(of: product, account: account) != nil { return true }
    }
    return false
  }

  /// Removes all versions that can be removed; throws the first error of the others.
  private func removeVersions(of product: ProductIdentifier) throws {
    var first: (any Error)?
    for content in try library.journal.installed() where content.productIdentifier == product {
      do {
        try remove(content.contentIdentifier, version: content.version)
      } catch let error as ContentError where error.code == .notInstalled {
        // Its folder was removed manually.
      } catch {
        first = first ?? error
      }
    }
    if let first { throw first }
  }

  private func countRemovals(of products: [ProductIdentifier]) {
    for product in products { removals[product, default: 0] += 1 }
  }

  /// Forgets the product, unless it was revoked again meanwhile: that removal is not complete yet.
  private func endRemoval(of product: ProductIdentifier) throws {
    let left = removals[product, default: 1] - 1
    if left == 0 { try journal.setRevoked(false, [product]) }
    removals[product] = left == 0 ? nil : left
  }

  /// Runs `body` between events; returns nil if the queue is closed before it succeeds.
  private func retryingJournal<Value: Sendable>(
    _ body: @escaping @Sendable (Engine) throws -> Value
  ) async -> Value? {
    await retrying {
      // A closed queue must not change the journal.
      try await performBlocking { try self.betweenEvents { _ in try body(self) } }
    }
  }

  /// Repeats `body` until it succeeds; returns nil if the queue is closed.
  ///
  /// Waits 1 second after a failure, doubling with each one up to 64 seconds.
  @discardableResult
  private func retrying<Value: Sendable>(_ body: () async throws -> Value) async -> Value? {
    var failures = 0
    while !Task.isCancelled {
      if let value = try? await body() { return value }
      try? await Task.sleep(for: .seconds(1 << min(failures, 6)))
      failures += 1
    }
    return nil
  }
}
