/// A list of weakly held observers, each at most once, in the order of addition.
///
/// Use it from any thread, even from an observer that is being called or deallocated: no observer
/// is loaded, released or called inside the lock.
package final class ObserverList<Observer>: Sendable {
  private final class Entry: Sendable {
    let reference: WeakReference<Observer>
    let isRemoved = Atomic(false)

    init(_ observer: Observer) { reference = WeakReference(observer) }
  }

  private let entries = Mutex<[Entry]>([])

  package init() {}

  /// Adds `observer`.
  ///
  /// Returns false if it is already in the list.
  package func add(_ observer: Observer) -> Bool {
    // Also removes a released observer with the same address as `observer`.
    removeReleased()
    return entries.withLock { entries in
      guard !entries.contains(where: { $0.reference.refers(to: observer) }) else { return false }
      entries.append(Entry(observer))
      return true
    }
  }

  /// Removes `observer`, if it is in the list.
  ///
  /// A call of `forEach` in progress skips it.
  package func remove(_ observer: Observer) {
    entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.reference.refers(to: observer) }) else {
        return
      }
      entries.remove(at: index).isRemoved.store(true, ordering: .releasing)
    }
  }

  package func contains(_ observer: Observer) -> Bool {
    entries.withLock { entries in entries.contains { $0.reference.refers(to: observer) } }
  }

  /// The observers that still exist.
  package var observers: [Observer] { entries.withLock { $0 }.compactMap(\.reference.object) }

  /// Calls `body` with each observer that is still in the list at that time.
  package func forEach(_ body: (Observer) -> Void) {
    for entry in entries.withLock({ $0 }) {
      guard !entry.isRemoved.load(ordering: .acquiring), let observer = entry.reference.object
      else { continue }
      body(observer)
    }
  }

  private func removeReleased() {
    let released = entries.withLock { $0 }.filter(\.reference.isReleased)
    guard !released.isEmpty else { return }
    let identifiers = Set(released.map(ObjectIdentifier.init))
    entries.withLock { entries in
      entries.removeAll { identifiers.contains(ObjectIdentifier($0)) }
    }
  }
}

// Sendable, because the reference never changes, and callers get the object that they passed in.

/// A weak reference to an object whose type is a class or a protocol.
///
/// Releasing a loaded object can run its `deinit`, and thus any code of the user. Never load and
/// release an object inside a lock. Compare with `refers(to:)` instead.
package final class WeakReference<Object>: @unchecked Sendable {
  private weak var reference: AnyObject?
  private let identifier: ObjectIdentifier?

  /// Creates a reference to `object`, which must be a class instance, or to nothing.
  package init(_ object: Object? = nil) {
    let object = object.map { $0 as AnyObject }
    reference = object
    identifier = object.map(ObjectIdentifier.init)
  }

  /// The object, or nil if it is deallocated.
  package var object: Object? { reference as? Object }

  /// Whether the object is deallocated.
  ///
  /// Much faster than `object`.
  package var isReleased: Bool { reference == nil }

  /// Whether this reference was created for `object`.
  ///
  /// It does not load the object, so it is safe inside a lock. The result is only meaningful while
  /// `object` exists, since a later object can have the same address.
  package func refers(to object: Object) -> Bool {
    identifier == ObjectIdentifier(object as AnyObject)
  }
}
