import HostedContent
import Concurrency

/// Keeps one object for each handle, so that object identity is stable while it is retained.
final class ObjectRegistry: Sendable {
  private struct Objects {
    var transactions: [PaymentTransaction: WeakReference<SKPaymentTransaction>] = [:]
    var downloads: [Download: WeakReference<SKDownload>] = [:]
  }

  // An object that is loaded inside the lock is returned to the caller. It must not be released
  // under the lock, because its `deinit` takes the lock again.
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

  /// Removes `object`, which is being deallocated, unless another object has replaced it.
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
