public import ContentModel
import ContentPackage
import ContentTrust
package import FileIO
public import FoundationEssentials

/// A store's folder, from its publisher's side: products, versions and signed metadata.
///
/// The folder is what any web server serves; its keys lie beside it, in `<store>.keys`. Everything
/// that is written is signed to be valid for a time: root 10 years, targets and snapshot 1 year,
/// timestamp 90 days; each publication and `refresh` start the last three anew, and `refresh` the
/// root when less than a year of it is left. Each publication is one step: whoever reads the store
/// meanwhile, or after a crash, sees the catalogue before or after it, whole. Methods may be called
/// from any thread; a second publisher is refused with `ContentError.Code.storeLocked`.
public final class StoreFolder: Sendable {
  private let folder: Directory
  private let parent: Directory
  private let keysName: String

  private static let metadataName = "metadata"
  private static let targetsName = "targets"
  private static let timestampName = "timestamp.json"

  private init(at path: String, creating: Bool, _ fileSystem: FileSystem) throws {
    var components = path.split(separator: "/").map(String.init)
    guard let name = components.popLast(), name != ".", name != ".." else {
      throw ContentError(
        .usage, "“\(path)” does not name a store's folder",
        remedy: "Give a path that ends in the store's name", subject: path)
    }
    let prefix = path.hasPrefix("/") ? "/" : components.isEmpty ? "." : ""
    parent = try fileSystem.directory(
      at: prefix + components.joined(separator: "/"), creating: creating)
    keysName = "\(name).keys"
    folder = try fileSystem.directory(at: path, creating: creating)
  }

  // MARK: Creating and opening

  /// Creates a store with new keys and an empty catalogue; parents of `path` are created too.
  ///
  /// Refuses a folder that is a store already or holds anything else (`usage`). One that a crash
  /// left half made is completed.
  public static func create(at path: String, now: Date = Date()) throws -> StoreFolder {
    try create(at: path, now: now, fileSystem: .real)
  }

  package static func create(at path: String, now: Date, fileSystem: FileSystem) throws
    -> StoreFolder
  {
    let store = try StoreFolder(at: path, creating: true, fileSystem)
    try store.checkVacancy()
    let keys = StoreKeys(try store.parent.createDirectory(store.keysName, mode: 0o700))
    try keys.whileLocked {
      try store.checkVacancy()
      let metadata = try store.folder.createDirectory(metadataName)
      try store.folder.createDirectory(targetsName)
      try store.folder.sync()
      try store.parent.sync()
      try StoreMetadata.create(in: metadata, keys, now: now)
    }
    return store
  }

  private func checkVacancy() throws {
    if try isStore {
      throw ContentError(
        .usage, "\(folder.path) is a store already", remedy: "Publish to it, or give another path",
        subject: folder.path)
    }
    let others = try folder.entries().map(\.name).filter {
      $0 != Self.metadataName && $0 != Self.targetsName
    }
    guard others.isEmpty else {
      throw ContentError(
        .usage, "\(folder.path) holds other files, such as \(others.min() ?? "")",
        remedy: "Give the path of a new or empty folder", subject: folder.path)
    }
  }

  private var isStore: Bool {
    get throws {
      guard try folder.status(of: Self.metadataName)?.kind == .directory else { return false }
      return try folder.directory(Self.metadataName).status(of: Self.timestampName) != nil
    }
  }

  /// Opens the store at `path`; `storeMissing` when there is none.
  public static func open(at path: String) throws -> StoreFolder {
    try open(at: path, fileSystem: .real)
  }

  package static func open(at path: String, fileSystem: FileSystem) throws -> StoreFolder {
    do {
      let store = try StoreFolder(at: path, creating: false, fileSystem)
      if try store.isStore { return store }
    } catch let error as ContentError where error.code == .fileMissing {}
    throw ContentError(
      .storeMissing, "\(path) is no store",
      remedy: "Check the path, or make a store with hostedcontent store init \(path)",
      subject: path)
  }

  // MARK: Reading

  /// The store's first root metadata, which clients must be given before they trust the store.
  public func initialRoot() throws -> [UInt8] {
    try folder.directory(Self.metadataName).contents(of: "1.root.json", limit: 512 << 10)
  }

  /// The products of the store with all published versions, by identifier; needs no keys.
  public func products() throws -> [StoredProduct] {
    let targets = try targets(of: metadata())
    return try StoreListing(targets).products.sorted { $0.key < $1.key }.map { product, entry in
      if let error = entry.error { throw error }
      return StoredProduct(
        record: try targets.fetchRecord(of: product), versions: entry.offers.map(StoredVersion.init)
      )
    }
  }

  private func metadata() throws -> StoreMetadata {
    try StoreMetadata(reading: folder.directory(Self.metadataName))
  }

  private func targets(of metadata: StoreMetadata) -> TrustedTargets {
    TrustedTargets(metadata.targets, root: metadata.root, fetcher: FolderFetcher(folder))
  }

  // MARK: Publishing

  /// Publishes content packages, all in one step, with the same details for each product.
  ///
  /// Product, content and version are what each package's ContentInfo.plist says. A package that
  /// breaks a rule refuses them all before anything is written; the error names each with all its
  /// findings. So does a version whose number is published already (`versionExists`), unless the
  /// bytes are the same; and a content identifier that another product has (`contentClaimed`),
  /// since a content belongs to one product. Returns the versions that are new.
  @discardableResult
  public func publish(
    _ packages: [String], details: ProductDetails = ProductDetails(), now: Date = Date()
  ) throws -> [StoredVersion] {
    try details.check()
    return try changing(now) { files, targets in
      let listing = StoreListing(targets)
      let intake = PackageIntake(fileSystem: folder.fileSystem, listing: listing)
      let packages = try intake.packages(at: packages)
      let products = Set(packages.map(\.custom.productIdentifier)).sorted()
      let records = try products.map { product in
        let record = try record(of: product, details, listing, targets)
        try Self.checkHosting(record)
        return record
      }
      let writer = TargetWriter(try folder.directory(Self.targetsName))
      let new = packages.filter { !$0.isPublished }
      for package in new { try writer.write(package, into: &files) }
      for record in records { try writer.write(record, into: &files) }
      return new.map(StoredVersion.init)
    }
  }

  /// Adds a product without content, or changes what the store says of a product.
  ///
  /// Refuses a new product that is called like another one's content (`contentClaimed`).
  public func add(
    _ product: ProductIdentifier, details: ProductDetails = ProductDetails(), now: Date = Date()
  ) throws {
    try details.check()
    try changing(now) { files, targets in
      let listing = StoreListing(targets)
      if let other = listing.claimant(of: product, besides: product) {
        throw ContentError.productClaimed(product, by: other)
      }
      let record = try record(of: product, details, listing, targets)
      if listing.products[product]?.offers.isEmpty == false { try Self.checkHosting(record) }
      try TargetWriter(folder.directory(Self.targetsName)).write(record, into: &files)
    }
  }

  /// What the store says of `product`, with `details` over it.
  private func record(
    of product: ProductIdentifier, _ details: ProductDetails, _ listing: StoreListing,
    _ targets: TrustedTargets
  ) throws -> ProductRecord {
    let known = listing.products[product]?.hasRecord == true
    return details.record(of: product, over: try known ? targets.fetchRecord(of: product) : nil)
  }

  private static func checkHosting(_ record: ProductRecord) throws {
    guard record.type == .nonConsumable else {
      throw ContentError(
        .usage, "\(record.productIdentifier) is \(record.type.rawValue) and cannot have content",
        remedy: "Only non-consumable products have hosted content; leave the type out",
        subject: record.productIdentifier.rawValue)
    }
  }

  /// Signs the catalogue anew, as it is, so that it stays valid from `now` on.
  public func refresh(now: Date = Date()) throws {
    let keys = try keys()
    try keys.whileLocked {
      let folder = try folder.directory(Self.metadataName)
      let metadata = try metadata().renewRoot(in: folder, keys, now: now)
      try metadata.publish(metadata.targets.targets, in: folder, keys, now: now)
    }
  }

  private func keys() throws -> StoreKeys {
    do {
      return StoreKeys(try parent.directory(keysName))
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError(
        .keyUnusable, "The store's keys are not in \(parent.path(of: keysName))",
        remedy: "Put the folder that store init has made back in its place",
        subject: parent.path(of: keysName))
    }
  }

  /// Publishes what `change` makes of the targets, if it changes any.
  private func changing<Value>(
    _ now: Date, _ change: (inout [String: TargetFile], TrustedTargets) throws -> Value
  ) throws -> Value {
    let keys = try keys()
    return try keys.whileLocked {
      let metadata = try metadata()
      var files = metadata.targets.targets
      let value = try change(&files, targets(of: metadata))
      if files != metadata.targets.targets {
        try metadata.publish(files, in: folder.directory(Self.metadataName), keys, now: now)
      }
      return value
    }
  }
}
