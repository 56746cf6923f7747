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
