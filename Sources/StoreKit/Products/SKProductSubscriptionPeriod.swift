public import Foundation

/// A length of time that a subscription goes on for.
///
/// Holds its values only: the engine sells no subscriptions.
// Sendable because nothing of it changes.
open class SKProductSubscriptionPeriod: NSObject, @unchecked Sendable {
  private let values: (Int, SKProduct.PeriodUnit)

  /// Creates a period of no length, for subclasses in tests.
  public override init() { values = (0, .day) }

  private init(_ values: (Int, SKProduct.PeriodUnit)) { self.values = values }

  /// Creates a period; not in Apple's API.
  public convenience init(numberOfUnits: Int, unit: SKProduct.PeriodUnit) {
    self.init((numberOfUnits, unit))
  }

  /// How many units.
  open var numberOfUnits: Int { values.0 }
  /// What is counted.
  open var unit: SKProduct.PeriodUnit { values.1 }
}
