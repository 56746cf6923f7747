import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport

extension PublisherFixture {
  /// What the current snapshot lists, by the name of the role's file.
  func listed() throws -> [String: JSONValue] {
    let timestamp = try JSONValue(parsing: bytes("timestamp.json"))
    let promise = timestamp["signed"]?["meta"]?["snapshot.json"]
    let snapshot = try JSONValue(
      parsing: bytes("\(promise?["version"]?.integer ?? 0).snapshot.json"))
    guard case .object(let files)? = snapshot["signed"]?["meta"] else { return [:] }
    return files
  }

  /// The versions of all bins that the current snapshot lists, by the name of the role.
  func binVersions() throws -> [String: Int64] {
    try listed().reduce(into: [:]) { versions, file in
      guard file.key.hasPrefix("bin-") else { return }
      versions[String(file.key.dropLast(".json".count))] = file.value["version"]?.integer ?? 0
    }
  }

  /// The version of the current snapshot.
  func snapshotVersion() throws -> Int64 {
    let timestamp = try JSONValue(parsing: bytes("timestamp.json"))
    return timestamp["signed"]?["meta"]?["snapshot.json"]?["version"]?.integer ?? 0
  }

  /// The name of the bin of `product` in a catalog with four bins.
  func bin(of product: ProductIdentifier) throws -> String {
    "bin-\(try BinNames.bin(of: product, bits: 2))"
  }

  /// Changes the title of a product.
  func retitle(
    _ product: ProductIdentifier, _ title: String, in store: StoreFolder, now: Date? = nil
  ) throws {
    try store.add(product, details: ProductDetails(title: title), now: now ?? self.now)
  }

  /// The title of `product` as a new client with `root` sees it; nil for an unknown product.
  func title(of product: ProductIdentifier, trusting root: [UInt8], time: Date? = nil) throws
    -> String?
  {
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    let targets = try client(trust, time: time).refresh(initialRoot: root)
    return try targets.record(of: product)?.description.texts["en"]?.title
  }

  /// Copies the files of a trust folder, without the records of products.
  func copyTrust(_ known: TemporaryFolder) throws -> TemporaryFolder {
    let trust = try TemporaryFolder()
    for entry in try known.opened().entries() where entry.kind == .file {
      try trust.opened().replaceFile(
        entry.name, with: known.opened().contents(of: entry.name, limit: 1 << 20))
    }
    return trust
  }
}
