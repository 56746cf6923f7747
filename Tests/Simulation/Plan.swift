import HostedModel

/// The parameters of a schedule.
///
/// They are chosen first.
struct Plan {
  /// The number of processes before the last one, in which no faults occur.
  let lives: Int
  /// The number of actions of a service per process.
  let actions: Int
  let switchRate: Int
  let diskFaultRate: Int
  let networkFaultRate: Int
  let journalFaultRate: Int
  let sellerFaultRate: Int
  /// The maximum number of faults.
  let faultLimit: Int
  let isOrderedDisk: Bool
  let capacity: Int64
  let observers: Int
  private let products: Int

  /// Chooses a plan.
  ///
  /// 0 is the simplest choice for each parameter.
  init(_ choices: Choices) {
    func one<Value>(of values: [Value]) -> Value { values[choices.pick(.plan, values.count)] }
    lives = one(of: [1, 2, 3, 4, 8])
    actions = one(of: [1, 4, 8, 16, 32])
    switchRate = one(of: [0, 100, 20, 5, 2])
    diskFaultRate = one(of: [0, 0, 500, 100, 30])
    networkFaultRate = one(of: [0, 0, 50, 10, 4])
    journalFaultRate = one(of: [0, 0, 50, 15, 5])
    sellerFaultRate = one(of: [0, 0, 20, 5])
    faultLimit = one(of: [0, 1, 2, 5, 20, 100])
    isOrderedDisk = one(of: [true, false])
    // A download reserves 4 MiB more than it needs.
    capacity = one(of: [1 << 40, 1 << 40, 6 << 20, 5 << 20])
    observers = one(of: [1, 1, 2, 3])
    products = one(of: [1, 2, 4, 8, 3, 12, 63, 63, 63, 63])
  }

  /// Whether the store offers `product` in this schedule.
  func offers(_ product: SimulatedStore.Product) -> Bool {
    let names = ["leaflet", "book", "foreign", "course", "key", "coin"]
    guard let number = names.firstIndex(of: product.identifier.rawValue) else { return false }
    return products & (1 << number) != 0
  }
}

/// The totals of several schedules.
package struct Totals: Codable, Sendable {
  package var schedules = 0
  package var steps = 0
  package var crashes = 0
  package var powerFailures = 0
  package var restarts = 0
  package var switches = 0
  package var pieces = 0
  package var actions = 0
  package var installs = 0
  package var transactions = 0
  /// The number of faults by kind.
  package var faults: [String: Int] = [:]
  /// The number of actions of the service and observers, by kind.
  package var deeds: [String: Int] = [:]
  var faultCount = 0

  package init() {}

  mutating func count(_ fault: String) {
    faults[fault, default: 0] += 1
    faultCount += 1
  }

  package mutating func add(_ other: Totals) {
    schedules += other.schedules
    steps += other.steps
    crashes += other.crashes
    powerFailures += other.powerFailures
    restarts += other.restarts
    switches += other.switches
    pieces += other.pieces
    actions += other.actions
    installs += other.installs
    transactions += other.transactions
    faults.merge(other.faults, uniquingKeysWith: +)
    deeds.merge(other.deeds, uniquingKeysWith: +)
    faultCount += other.faultCount
  }
}
