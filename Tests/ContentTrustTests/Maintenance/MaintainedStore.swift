import ContentModel
import ContentStore
import ContentTrust
import FileIO
import FoundationEssentials
import TestSupport

/// A store with publications on different days, for tests of its maintenance.
struct MaintainedStore {
  let fixture: PublisherFixture
  let store: StoreFolder

  init(_ keys: StoreKeyOptions = StoreKeyOptions()) throws {
    fixture = try PublisherFixture()
    store = try fixture.create(keys)
  }

  /// The time `day` days after the store was created.
  func at(_ day: Double) -> Date { fixture.now.addingTimeInterval(day * 86_400) }

  /// Publishes a product without content, or a new title.
  func add(_ product: String, _ title: String? = nil, day: Double) throws {
    try store.add(
      ProductIdentifier(validating: product), details: ProductDetails(title: title), now: at(day))
  }

  func publish(_ product: String, _ version: String, day: Double) throws {
    try store.publish([fixture.package(product, version)], now: at(day))
  }

  func retire(_ product: String, _ version: String, day: Double) throws {
    try store.retire(
      ProductIdentifier(validating: product), ContentVersion(validating: version), now: at(day))
  }

  /// Every file below the store, by path.
  func files() throws -> Set<String> {
    func files(in directory: Directory, _ prefix: String) throws -> Set<String> {
      try directory.entries().reduce(into: []) { found, entry in
        if entry.kind == .directory {
          found.formUnion(
            try files(in: directory.directory(entry.name), "\(prefix)\(entry.name)/"))
        } else {
          found.insert(prefix + entry.name)
        }
      }
    }
    return try files(in: FileSystem.real.directory(at: fixture.storePath), "")
  }

  /// The files of the catalog that a client sees on `day`.
  func catalog(day: Double) throws -> TrustedTargets {
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    return try fixture.client(trust, time: at(day)).refresh(initialRoot: store.initialRoot())
  }

  /// Fetches and verifies every file of `catalog`.
  func fetchAll(_ catalog: TrustedTargets) throws {
    for name in catalog.targets.keys { _ = try catalog.fetchTarget(name, limit: 1 << 30) }
  }
}
