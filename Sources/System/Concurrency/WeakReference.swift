// Sendable because the reference never changes, and a caller gets the object as it was handed in.

/// A reference that does not keep its object alive; the object is known by a class or by a
/// protocol.
///
/// Releasing a loaded object can run its `deinit`, and with it any code of the user. So never load
/// an object inside a lock and release it there: compare with `refers(to:)` instead.
public final class WeakReference<Object>: @unchecked Sendable {
  private weak var reference: AnyObject?
  private let identifier: ObjectIdentifier?

  /// A reference to `object`, which must be an instance of a class; nil refers to nothing.
  public init(_ object: Object? = nil) {
    let object = object.map { $0 as AnyObject }
    reference = object
    identifier = object.map(ObjectIdentifier.init)
  }

  /// The object; nil once it is deallocated.
  public var object: Object? { reference as? Object }

  /// Whether the object is deallocated; much faster than `object`.
  public var isReleased: Bool { reference == nil }

  /// Whether this was made for `object`; loads nothing, so it may be called inside a lock.
  ///
  /// Only meaningful while `object` exists: a later object can have the same address.
  public func refers(to object: Object) -> Bool {
    identifier == ObjectIdentifier(object as AnyObject)
  }
}
