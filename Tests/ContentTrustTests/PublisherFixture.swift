import ContentModel
import ContentPackage
import ContentStore
import ContentTrust
import Digests
import FileIO
import FoundationEssentials
import TestSupport

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

  /// Builds a package and returns its path.
  func package(_ product: String, _ version: String) throws -> String {
    let directory = try folder.opened()
    let source = try directory.createDirectory("source-\(product)-\(version)", exclusive: true)
    try source.createDirectory("Contents").replaceFile("text", with: Array(version.utf8))
    let output = "\(product)-\(version).pkg"
    _ = try buildPackage(
      folder: source, output: directory, outputName: output,
      productIdentifier: ProductIdentifier(validating: product),
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
    return Self.products(try client(trust).refresh(initialRoot: root))
  }

  static func products(_ targets: TrustedTargets) -> Set<String> {
    Set(StoreListing(targets).products.keys.map(\.rawValue))
  }

  // MARK: An attacker

  /// Returns metadata from an attacker who can write the store's folder but has none of its keys.
  ///
  /// The attacker's root lists the store's own keys and the attacker's keys, so that either can
  /// sign.
  func forged(_ version: Int64, over root: [UInt8], rootVersion: Int64) throws -> [String: [UInt8]]
  {
    let sample = try SampleMetadata()
    let own = try TrustedMetadata(root: root).root
    let far = now.addingTimeInterval(1e9)
    let keys = sample.keys.reduce(into: [:]) { keys, key in
      keys[key.key] =
        [key.value.publicKey] + (key.key == .root ? [] : Array(own.publicKeys(of: key.key)))
    }
    let forged = try RootRole(version: rootVersion, expires: far, keys: keys)
    let evil = TargetFile(length: 1, digest: try Digest(of: [1]))
    let targets = try sample.targets(
      version, expires: far, files: ["com.example.evil/product.json": evil])
    let snapshot = try sample.snapshot(version, expires: far, targets: targets, version)
    return [
      "\(rootVersion).root.json": try sample.signer(.root).sign(forged),
      "\(version).targets.json": targets, "\(version).snapshot.json": snapshot,
      "timestamp.json": try sample.timestamp(version, expires: far, snapshot: snapshot, version),
    ]
  }
}
