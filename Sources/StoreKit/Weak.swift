/// A reference that does not keep its object, which may be known by a class or by a protocol.
// Sendable because whoever holds it hands the object out as it was handed in.
struct Weak<Object>: @unchecked Sendable {
  private weak var reference: AnyObject?

  init(_ object: Object? = nil) { reference = object.map { $0 as AnyObject } }

  var object: Object? { reference as? Object }
}
