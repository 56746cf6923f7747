import HostedContent
import Locks

/// One object for each handle: the same transaction is the same object for as long as anybody holds it.
final class ObjectRegistry: Sendable {
  private struct Objects {
    var transactions: [PaymentTransaction: Weak<SKPaymentTransaction>] = [:]
    var downloads: [Download: Weak<SKDownload>] = [:]
  }

  private let objects = Mutex(Objects())

  func transaction(_ handle: PaymentTransaction) -> SKPaymentTransaction {
    objects.withLock { objects in
      if let known = objects.transactions[handle]?.object { return known }
      let new = SKPaymentTransaction(handle, in: self)
      objects.transactions[handle] = Weak(new)
      return new
    }
  }

  func download(_ handle: Download) -> SKDownload {
    objects.withLock { objects in
      if let known = objects.downloads[handle]?.object { return known }
      let new = SKDownload(handle, in: self)
      objects.downloads[handle] = Weak(new)
      return new
    }
  }

  /// An object is gone; the place may have been taken by another meanwhile.
  func forget(_ handle: PaymentTransaction) {
    objects.withLock { objects in
      let isEmpty = objects.transactions[handle].map { $0.object == nil } ?? false
      if isEmpty { objects.transactions[handle] = nil }
    }
  }

  func forget(_ handle: Download) {
    objects.withLock { objects in
      let isEmpty = objects.downloads[handle].map { $0.object == nil } ?? false
      if isEmpty { objects.downloads[handle] = nil }
    }
  }
}
