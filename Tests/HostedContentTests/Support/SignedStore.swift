import ContentModel
import ContentTrust
import Digests
import FileIO
import FoundationEssentials
import HostedContent
import TestSupport

/// A store in memory whose keys belong to the test, so that it can sign hostile catalogs.
struct SignedStore {
  /// The bytes of each product's record.
  var records: [ProductIdentifier: [UInt8]] = [:]
  /// The products of contents with names of their own.
  var owners: [ProductIdentifier: ProductIdentifier] = [:]

  static let now = Date(timeIntervalSince1970: 1_900_000_000)

  /// Creates a store of products with these contents, each in one version.
  init(_ products: [String: [String]], owners: [String: String] = [:]) throws {
    for (text, contents) in products {
      let product = try ProductIdentifier(validating: text)
      let contents = try contents.map { try ProductIdentifier(validating: $0) }
      records[product] = try Self.record(product, contents).json
    }
    for (content, product) in owners {
      let content = try ProductIdentifier(validating: content)
      self.owners[content] = try ProductIdentifier(validating: product)
    }
  }

  private static func record(_ product: ProductIdentifier, _ contents: [ProductIdentifier]) throws
    -> CatalogRecord
  {
    let texts = ["en": ProductText(title: "Title")]
    var record = CatalogRecord(
      ProductRecord(
        productIdentifier: product, type: .nonConsumable, texts: texts, price: nil))
    let digest = try Digest(of: [1])
    for content in contents {
      func file(_ name: String) -> SignedFile {
        SignedFile(path: "targets/\(product)/1/\(content)/\(name)", length: 1, digest: digest)
      }
      record.add(
        ContentOffer(
          productIdentifier: product, contentIdentifier: content, version: "1", installedSize: 1,
          package: file("package"), index: file("index")))
    }
    return record
  }

  /// Returns the catalog as a new client reads it, which keeps its files in `folder`.
  func catalog(in folder: TemporaryFolder) throws -> CatalogSnapshot {
    var files: [String: [UInt8]] = [:]
    var targets: [String: TargetFile] = [:]
    for (product, record) in records {
      let digest = try Digest(of: record)
      targets[StorePath.entry(product)] = TargetFile(length: Int64(record.count), digest: digest)
      files["targets/\(product)/\(StorePath.fileName(.record, digest))"] = record
    }
    for (content, product) in owners {
      let custom = CatalogList.custom(ownedBy: product)
      targets[StorePath.entry(content)] = TargetFile(
        length: Int64(custom.encoded.count), digest: try Digest(of: custom.encoded), custom: custom)
    }
    let key = try SigningKey.generate()
    let signer = RoleSigner(keys: [key])
    let expires = Self.now.addingTimeInterval(1000)
    let root = try signer.sign(
      RootRole(
        version: 1, expires: expires,
        keys: Dictionary(uniqueKeysWithValues: RoleName.allCases.map { ($0, key.publicKey) })))
    let role = try signer.sign(TargetsRole(version: 1, expires: expires, targets: targets))
    let snapshot = try signer.sign(
      SnapshotRole(
        version: 1, expires: expires, targets: MetadataFile(version: 1, bytes: role)))
    files["metadata/1.targets.json"] = role
    files["metadata/1.snapshot.json"] = snapshot
    files["metadata/timestamp.json"] = try signer.sign(
      TimestampRole(
        version: 1, expires: expires, snapshot: MetadataFile(version: 1, bytes: snapshot)))
    // Each store has other keys, so each client needs its own folder.
    let directory = try folder.opened()
    let number = try directory.entries().count
    let client = TrustClient(
      trustFolder: try directory.createDirectory("trust-\(number)", exclusive: true),
      fetcher: FilesInMemory(files: files), now: { SignedStore.now })
    return try Catalog(client: client, trustedRoot: root).refresh()
  }
}

/// The files of a store, by path.
private struct FilesInMemory: MetadataFetcher {
  let files: [String: [UInt8]]

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? { files[path] }
}
