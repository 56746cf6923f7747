import ContentModel

/// What a schedule is made of; drawn first.
struct Plan {
  /// How many processes live one after the other before the last one, in which nothing fails.
  let lives: Int
  /// What a service does in each of its lives.
  let actions: Int
  let switchRate: Int
  let diskFaultRate: Int
  let networkFaultRate: Int
  let journalFaultRate: Int
  let sellerFaultRate: Int
  /// No more faults than these happen.
  let faultLimit: Int
  let isOrderedDisk: Bool
  let capacity: Int64
  let observers: Int
  private let products: Int

  /// Draws a plan; 0 is the simplest choice everywhere.
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

/// What schedules did, summed up.
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
  /// Faults by kind.
  package var faults: [String: Int] = [:]
  /// What the service and observers did, by kind.
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
