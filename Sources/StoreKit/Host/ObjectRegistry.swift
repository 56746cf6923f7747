import HostedContent
import Concurrency

/// One object for each handle: the same transaction is the same object for as long as anybody holds
/// it.
final class ObjectRegistry: Sendable {
  private struct Objects {
    var transactions: [PaymentTransaction: WeakReference<SKPaymentTransaction>] = [:]
    var downloads: [Download: WeakReference<SKDownload>] = [:]
  }

  // An object that is loaded inside the lock leaves it with the caller: it is never released there,
  // where its `deinit` would take the lock again.
  private let objects = Mutex(Objects())

  func transaction(_ handle: PaymentTransaction) -> SKPaymentTransaction {
    objects.withLock { objects in
      if let known = objects.transactions[handle]?.object { return known }
      let new = SKPaymentTransaction(handle, in: self)
      objects.transactions[handle] = WeakReference(new)
      return new
    }
  }

  func download(_ handle: Download) -> SKDownload {
    objects.withLock { objects in
      if let known = objects.downloads[handle]?.object { return known }
      let new = SKDownload(handle, in: self)
      objects.downloads[handle] = WeakReference(new)
      return new
    }
  }

  /// Removes `object`, which is being deallocated; another object may have taken its place.
  func forget(_ object: SKPaymentTransaction, _ handle: PaymentTransaction) {
    objects.withLock { objects in
      guard objects.transactions[handle]?.refers(to: object) == true else { return }
      objects.transactions[handle] = nil
    }
  }

  func forget(_ object: SKDownload, _ handle: Download) {
    objects.withLock { objects in
      guard objects.downloads[handle]?.refers(to: object) == true else { return }
      objects.downloads[handle] = nil
    }
  }
}
