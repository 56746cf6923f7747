import HostedModel
import HostedPackage
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedTestSupport

/// A store with its keys in a temporary folder, and changes that others make to its files.
struct PublisherFixture {
  let folder: TemporaryFolder
  let now = Date(timeIntervalSince1970: 1_900_000_000)

  init() throws { folder = try TemporaryFolder() }

  var storePath: String { folder.path("store") }

  func create(_ keys: StoreKeyOptions = StoreKeyOptions()) throws -> StoreFolder {
    try StoreFolder.create(at: storePath, keys: keys, now: now)
  }

  func open(
    _ keys: StoreKeyOptions = StoreKeyOptions(), restored: Bool = false,
    fileSystem: FileSystem = .real
  ) throws -> StoreFolder {
    try StoreFolder.open(at: storePath, keys: keys, restored: restored, fileSystem: fileSystem)
  }

  /// Publishes a product without content.
  func add(_ product: String, to store: StoreFolder) throws {
    try store.add(ProductIdentifier(validating: product), now: now)
  }

  /// Publishes products without content, in one step.
  func add(_ products: [ProductIdentifier], to store: StoreFolder) throws {
    let details = Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails()) })
    try store.add(details, now: now)
  }

  /// Builds a package and returns its path.
  func package(_ product: String, _ version: String, content: String? = nil) throws -> String {
    let directory = try folder.opened()
    let name = [product, content, version].compactMap { $0 }.joined(separator: "-")
    let source = try directory.createDirectory("source-\(name)", exclusive: true)
    try source.createDirectory("Contents").replaceFile("text", with: Array(version.utf8))
    let output = "\(name).pkg"
    _ = try buildPackage(
      folder: source, output: directory, outputName: output,
      productIdentifier: ProductIdentifier(validating: product),
      contentIdentifier: content.map { try ProductIdentifier(validating: $0) },
      version: ContentVersion(validating: version))
    return folder.path(output)
  }

  // MARK: Files

  var metadata: Directory {
    get throws { try FileSystem.real.directory(at: "\(storePath)/metadata") }
  }

  func bytes(_ name: String) throws -> [UInt8] { try metadata.contents(of: name, limit: 1 << 20) }

  /// All metadata files with their bytes.
  func files() throws -> [String: [UInt8]] {
    try metadata.entries().reduce(into: [:]) { $0[$1.name] = try bytes($1.name) }
  }

  func put(_ files: [String: [UInt8]]) throws {
    for (name, bytes) in files { try metadata.replaceFile(name, with: bytes) }
  }

  /// Replaces the metadata with `files`, like restoring a backup that removes other files.
  func putBack(_ files: [String: [UInt8]]) throws {
    for name in try self.files().keys where files[name] == nil { try metadata.removeFile(name) }
    try put(files)
  }

  func names(_ path: String) throws -> Set<String> {
    Set(try FileSystem.real.directory(at: folder.path(path)).entries().map(\.name))
  }

  /// Copies the files of a folder, without its subfolders.
  func copy(_ name: String, to other: String) throws {
    let directory = try FileSystem.real.directory(at: folder.path(name))
    let target = try folder.opened().createDirectory(other, mode: 0o700)
    for entry in try directory.entries() where entry.kind == .file {
      try target.replaceFile(entry.name, with: directory.contents(of: entry.name, limit: 1 << 20))
    }
  }

  // MARK: Clients

  /// Returns a client that starts with `root` and keeps its trusted metadata in `trust`.
  func client(_ trust: TemporaryFolder, time: Date? = nil) throws -> TrustClient {
    let now = time ?? now
    return TrustClient(
      trustFolder: try trust.opened(),
      fetcher: FolderFetcher(try FileSystem.real.directory(at: storePath)), now: { now })
  }

  /// Returns the products that a new client with `root` sees.
  func products(trusting root: [UInt8]) throws -> Set<String> {
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    return try Self.products(client(trust).refresh(initialRoot: root))
  }

  /// The products in all lists of the catalog.
  static func products(_ targets: TrustedTargets) throws -> Set<String> {
    try targets.lists.reduce(into: []) { products, name in
      products.formUnion(try targets.list(name).products.keys.map(\.rawValue))
    }
  }

  /// Reads every entry, archive and index that the catalog lists, and returns their number.
  ///
  /// Throws the error of the first file that does not exist or has other bytes.
  func readAll(_ targets: TrustedTargets) throws -> Int {
    let store = FolderFetcher(try FileSystem.real.directory(at: storePath))
    var count = 0
    for name in try targets.lists {
      let list = try targets.list(name)
      for (target, file) in list.role.targets { _ = try targets.fetchEntry(target, file) }
      count += list.role.targets.count
      for (product, file) in list.products {
        let offers = try targets.record(of: product, file).offers
        for signed in offers.flatMap({ [$0.package, $0.index] }) {
          let bytes = try store.fetch(signed.path, limit: 1 << 30) ?? []
          try TargetFile(length: signed.length, digest: signed.digest)
            .check(bytes, of: signed.path)
          count += 1
        }
      }
    }
    return count
  }

  // MARK: An attacker

  /// Returns metadata from an attacker who can write the store's folder but has none of its keys.
  ///
  /// The attacker's root lists the store's own keys and the attacker's keys, so that either can
  /// sign.
  func forged(_ version: Int64, over root: [UInt8], rootVersion: Int64) throws -> [String: [UInt8]]
  {
    let own = try TrustedMetadata(root: root).root
    let far = now.addingTimeInterval(1e9)
    var keys: [RoleName: SigningKey] = [:]
    for role in RoleName.allCases { keys[role] = try SigningKey.generate() }
    func signer(_ role: RoleName) -> RoleSigner {
      RoleSigner(keys: [keys[role]].compactMap(\.self))
    }
    let listed = keys.reduce(into: [:]) { listed, key in
      listed[key.key] =
        [key.value.publicKey] + (key.key == .root ? [] : Array(own.publicKeys(of: key.key)))
    }
    let forged = try RootRole(version: rootVersion, expires: far, keys: listed)
    let evil = TargetFile(length: 1, digest: try Digest(of: [1]))
    let targets = try signer(.targets).sign(
      TargetsRole(version: version, expires: far, targets: ["com.example.evil/product.json": evil]))
    let snapshot = try signer(.snapshot).sign(
      SnapshotRole(
        version: version, expires: far, targets: MetadataFile(version: version, bytes: targets)))
    let timestamp = try signer(.timestamp).sign(
      TimestampRole(
        version: version, expires: far, snapshot: MetadataFile(version: version, bytes: snapshot)))
    return [
      "\(rootVersion).root.json": try signer(.root).sign(forged),
      "\(version).targets.json": targets, "\(version).snapshot.json": snapshot,
      "timestamp.json": timestamp,
    ]
  }
}
