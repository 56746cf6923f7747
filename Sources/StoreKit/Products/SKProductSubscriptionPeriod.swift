public import Foundation

/// The period of a subscription.
///
/// Only stores its values, because subscriptions are not supported.
// Sendable because it is immutable.
open class SKProductSubscriptionPeriod: NSObject, @unchecked Sendable {
  private let values: (numberOfUnits: Int, unit: SKProduct.PeriodUnit)

  /// Creates an empty period, for subclasses in tests.
  public override init() { values = (0, .day) }

  private init(_ values: (Int, SKProduct.PeriodUnit)) { self.values = values }

  /// Creates a period; not in Apple's API.
  public convenience init(numberOfUnits: Int, unit: SKProduct.PeriodUnit) {
    self.init((numberOfUnits, unit))
  }

  /// The number of units.
  open var numberOfUnits: Int { values.numberOfUnits }
  /// The unit.
  open var unit: SKProduct.PeriodUnit { values.unit }
}
