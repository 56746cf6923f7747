import HostedContent
import HostedConcurrency

/// Keeps one object for each handle, so that object identity is stable while it is retained.
final class ObjectRegistry: Sendable {
  let transactions = WeakObjects<PaymentTransaction, SKPaymentTransaction>()
  let downloads = WeakObjects<Download, SKDownload>()

  func transaction(_ handle: PaymentTransaction) -> SKPaymentTransaction {
    transactions.object(for: handle) { SKPaymentTransaction(handle, in: self) }
  }

  func download(_ handle: Download) -> SKDownload {
    downloads.object(for: handle) { SKDownload(handle, in: self) }
  }
}

/// One weakly held object for each key.
final class WeakObjects<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
  // An object that is loaded inside the lock is returned to the caller. It must not be released
  // under the lock, because its `deinit` takes the lock again.
  private let objects = Mutex<[Key: WeakReference<Object>]>([:])

  /// Returns the object for `key`; creates it if it does not exist.
  func object(for key: Key, create: () -> Object) -> Object {
    objects.withLock { objects in
      if let known = objects[key]?.object { return known }
      let new = create()
      objects[key] = WeakReference(new)
      return new
    }
  }

  /// Removes `object`, which is being deallocated, unless another object has replaced it.
  func forget(_ object: Object, for key: Key) {
    objects.withLock { objects in
      if objects[key]?.refers(to: object) == true { objects[key] = nil }
    }
  }
}
