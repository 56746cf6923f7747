public import ContentModel
import ContentPackage
import ContentTrust
package import FileIO
public import FoundationEssentials

/// A store's folder, from its publisher's side: products, versions and signed metadata.
///
/// The folder is what any web server serves; its keys lie beside it, in `<store>.keys`, and those
/// of its root in `<store>.keys/root`, a folder that can be carried away. Everything that is
/// written is signed to be valid for a time: root 10 years, targets and snapshot 1 year, timestamp
/// 90 days; each publication starts the last three anew, and `refresh` renews what has less than
/// half of its time left, the root when less than a year is. Each publication is one step: whoever
/// reads the store meanwhile, or after a crash, sees the catalog before or after it, whole. Methods
/// may be called from any thread; a second publisher is refused with
/// `ContentError.Code.storeLocked`.
public final class StoreFolder: Sendable {
  let folder: Directory
  let place: FolderPlace
  let options: StoreKeyOptions
  let isRestored: Bool

  static let metadataName = "metadata"
  static let targetsName = "targets"
  private static let timestampName = "timestamp.json"

  init(
    at path: String, _ options: StoreKeyOptions, creating: Bool, restored: Bool = false,
    _ fileSystem: FileSystem
  ) throws {
    try options.check()
    isRestored = restored
    place = try FolderPlace(path)
    self.options = options
    let isNew = creating && !FolderPlace.exists(path)
    folder = try fileSystem.directory(at: path, creating: creating)
    if isNew { try folder.makeReadable(unlessShared: false) }
    try checkNoLinks()
  }

  // MARK: Creating and opening

  /// Creates a store with new keys and an empty catalog; parents of `path` are created too.
  ///
  /// Refuses a folder that is a store already or holds anything else (`fileExists`), and keys
  /// inside of it (`usage`). One that a crash left half made is completed.
  public static func create(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(),
    plan: StoreKeyPlan = StoreKeyPlan(), now: Date = Date()
  ) throws -> StoreFolder {
    try create(at: path, keys: keys, plan: plan, now: now, fileSystem: .real)
  }

  package static func create(
    at path: String, keys options: StoreKeyOptions = StoreKeyOptions(),
    plan: StoreKeyPlan = StoreKeyPlan(), now: Date, fileSystem: FileSystem
  ) throws -> StoreFolder {
    for role in StoreRole.allCases {
      let count = try plan.numbers(of: role).count
      if role == .root { try options.check(newRootKeys: count) }
    }
    let store = try StoreFolder(at: path, options, creating: true, fileSystem)
    try store.checkVacancy()
    try store.checkKeysAreOutside()
    let keys = try store.keys(creating: true)
    let state = try store.state(keys)
    try state.whileLocked(store.folder) {
      try store.checkVacancy()
      guard try state.record() == nil else { throw store.keysTaken(keys) }
      let metadata = try store.folder.createServedDirectory(metadataName)
      try store.folder.createServedDirectory(targetsName)
      try store.folder.sync()
      try fileSystem.directory(at: store.place.parent).sync()
      try StoreMetadata.create(
        plan, with: MetadataWriter(folder: metadata, keys: keys, state: state, now: now))
    }
    return store
  }

  private func checkVacancy() throws {
    if try isStore {
      throw ContentError(
        .fileExists, "\(folder.path) is a store already",
        remedy: "Publish to it, or give another path",
        subject: folder.path)
    }
    let others = try folder.entries().map(\.name).filter {
      $0 != Self.metadataName && $0 != Self.targetsName
    }
    guard others.isEmpty else {
      throw ContentError(
        .fileExists, "\(folder.path) holds other files, such as \(others.min() ?? "")",
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
  ///
  /// `restored` says that its files were put back from a backup: metadata that is older than what
  /// was signed last is then no error (`storeRolledBack`), and the next change signs it again with
  /// higher version numbers. What was published after the backup is gone, what was retired after it
  /// is offered again. Use it for one change, not for every one.
  public static func open(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(), restored: Bool = false
  ) throws -> StoreFolder {
    try open(at: path, keys: keys, restored: restored, fileSystem: .real)
  }

  package static func open(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(), restored: Bool = false,
    fileSystem: FileSystem
  ) throws -> StoreFolder {
    do {
      let store = try StoreFolder(
        at: path, keys, creating: false, restored: restored, fileSystem)
      if try store.isStore { return store }
    } catch let error as ContentError where error.code == .fileMissing {}
    throw ContentError.storeMissing(path)
  }

  // MARK: Reading

  /// The store's first root metadata, which clients must be given before they trust the store.
  ///
  /// `rootMismatch` if it is not the one that the publication record pins.
  public func initialRoot() throws -> [UInt8] {
    try RootChain.first(in: metadataFolder, knownRecord()?.firstRoot).0.bytes
  }

  /// The products of the store with all published versions, by identifier; needs no keys.
  ///
  /// Where this process can read the publication record, the metadata is checked against it as for
  /// a publication. Elsewhere the store's own first root is trusted, so the answer is as good as
  /// the folder.
  public func products() throws -> [StoredProduct] {
    let metadata = try StoreMetadata(
      reading: metadataFolder, knownRecord(), restored: isRestored, keys: nil)
    let targets = targets(of: metadata)
    return try StoreListing(targets).products.sorted { $0.key < $1.key }.map { product, entry in
      if let error = entry.error { throw error }
      let record = try Self.record(of: product, in: targets)
      return StoredProduct(
        record: record ?? ProductDetails().record(of: product, over: nil),
        isRecordLost: record == nil, versions: entry.offers.map(StoredVersion.init))
    }
  }

  /// What the store says of `product`; nil if the file was lost or damaged.
  private static func record(of product: ProductIdentifier, in targets: TrustedTargets) throws
    -> ProductRecord?
  {
    do {
      return try targets.fetchRecord(of: product)
    } catch let error as ContentError
      where [.storeMissing, .digestMismatch, .storeDamaged].contains(error.code)
    {
      return nil
    }
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
  /// since a content belongs to one product. Throws `diskFull` before anything is written when they
  /// cannot fit. With `repackaging`, archives of other forms and names are converted first, in a
  /// private folder of the store, so that updates and repairs of them transfer only what changed;
  /// the converted bytes count as the package. A product whose record was lost gets a new one.
  @discardableResult
  public func publish(
    _ packages: [String], details: ProductDetails = ProductDetails(), repackaging: Bool = false,
    now: Date = Date()
  ) throws -> Publication {
    try details.check()
    return try changing(now) { files, targets in
      guard repackaging else { return try publish(packages, details, nil, &files, targets) }
      try removeConversions()
      return try folder.withTemporaryDirectory(Self.conversionName) {
        try publish(packages, details, $0, &files, targets)
      }
    }
  }

  private func publish(
    _ packages: [String], _ details: ProductDetails, _ conversionFolder: Directory?,
    _ files: inout [String: TargetFile], _ targets: TrustedTargets
  ) throws -> Publication {
    let listing = StoreListing(targets)
    let intake = PackageIntake(
      fileSystem: folder.fileSystem, listing: listing, retired: RetiredVersions(files),
      conversionFolder: conversionFolder)
    let packages = try intake.packages(at: packages)
    let products = Set(packages.map(\.custom.productIdentifier)).sorted()
    let records = try products.map { try self.records(of: $0, details, listing, targets) }
    for record in records { try record.new.checkHosting() }
    let writer = TargetWriter(try targetsFolder())
    let absent = try packages.filter { try !$0.isPublished || !writer.has($0, in: files) }
    try intake.requireSpace(absent, in: folder)
    for package in absent { try writer.write(package, into: &files) }
    for record in records { try writer.write(record.new, into: &files) }
    return Publication(
      versions: absent.map(StoredVersion.init),
      changes: records.compactMap { ProductChange(from: $0.old, to: $0.new) })
  }

  /// Adds a product without content, or changes what the store says of a product.
  ///
  /// Refuses a new product that is called like another's content (`contentClaimed`); nil if equal.
  @discardableResult
  public func add(
    _ product: ProductIdentifier, details: ProductDetails = ProductDetails(), now: Date = Date()
  ) throws -> ProductChange? {
    try details.check()
    return try changing(now) { files, targets in
      let listing = StoreListing(targets)
      if let other = listing.claimant(of: product, besides: product) {
        throw ContentError.productClaimed(product, by: other)
      }
      let (old, new) = try records(of: product, details, listing, targets)
      if listing.products[product]?.offers.isEmpty == false { try new.checkHosting() }
      try TargetWriter(targetsFolder()).write(new, into: &files)
      return ProductChange(from: old, to: new)
    }
  }

  /// What the store says of `product`, and the same with `details` over it.
  private func records(
    of product: ProductIdentifier, _ details: ProductDetails, _ listing: StoreListing,
    _ targets: TrustedTargets
  ) throws -> (old: ProductRecord?, new: ProductRecord) {
    let isKnown = listing.products[product]?.hasRecord == true
    let old = try isKnown ? Self.record(of: product, in: targets) : nil
    return (old, details.record(of: product, over: old))
  }

  /// Publishes what `change` makes of the targets, if it changes any.
  private func changing<Value>(
    _ now: Date, _ change: (inout [String: TargetFile], TrustedTargets) throws -> Value
  ) throws -> Value {
    try writing(now) { metadata, writer in
      var files = metadata.targets.targets
      let value = try change(&files, targets(of: metadata))
      if files != metadata.targets.targets || metadata.needsSigning {
        try metadata.publish(files, with: writer)
      }
      return value
    }
  }

  // MARK: Upkeep

  /// What a refresh has done, and what it could not do.
  public struct Renewal: Hashable, Sendable {
    /// The roles that were signed anew; empty when nothing was due.
    public let roles: [StoreRole]
    /// When the root expires, if that is due and its keys are not here; nil otherwise.
    public let rootExpires: Date?
  }

  /// Renews what has less than half of its time left, so that the catalog stays valid.
  ///
  /// Safe to repeat: what is not due is left alone, unless `everything` is asked for. The root is
  /// due when less than a year of it is left; without its keys, which then are needed, the others
  /// are renewed all the same and `rootExpires` says until when.
  @discardableResult
  public func refresh(everything: Bool = false, now: Date = Date()) throws -> Renewal {
    try writing(now) { metadata, writer in
      var metadata = metadata
      var roles: [StoreRole] = []
      var rootExpires: Date?
      if metadata.isRootDue(now: now) {
        if writer.keys.canSignRoot(metadata.root) {
          metadata = try metadata.renewRoot(with: writer)
          roles.append(.root)
        } else {
          rootExpires = metadata.root.expires
        }
      }
      roles += try metadata.renew(with: writer, everything: everything)
      return Renewal(roles: roles, rootExpires: rootExpires)
    }
  }

  /// Gives roles new keys, in one step of the root, and signs everything with them.
  ///
  /// Needs as many root keys as the root demands, not the roles' old keys: they may be lost.
  /// Clients that trust an earlier root follow, and can read the store at each moment: targets,
  /// snapshot and timestamp are signed by old and new keys until the next change. New timestamp or
  /// snapshot keys also make clients forget versions that a thief has signed. The old keys' files
  /// are removed at the end. If old keys are lost, clients cannot refresh for a moment between root
  /// and timestamp; if the rotation is interrupted there, until the next `refresh` or publication.
  public func rotate(
    _ roles: [StoreRole], plan: StoreKeyPlan = StoreKeyPlan(), now: Date = Date()
  ) throws {
    try writing(now) { metadata, writer in
      for role in StoreRole.allCases where role != .root && !roles.contains(role) {
        _ = try writer.keys.signer(role.name, of: metadata.root)
      }
      if roles.contains(.root) {
        let known = metadata.root.roles[.root]
        try options.check(newRootKeys: plan.numbers(of: .root, known: known).count)
      }
      let next = try metadata.rotate(roles, plan, with: writer)
      for role in roles { try writer.keys.remove(role.name, of: metadata.root, notIn: next.root) }
    }
  }

  /// Takes a version of a content out of the catalog; the product's own content for nil.
  ///
  /// Its files stay, so that downloads that have begun come to their end. Its number stays taken:
  /// the next version must be higher. Throws `productUnknown` when there is no such version.
  public func retire(
    _ product: ProductIdentifier, _ version: ContentVersion, content: ProductIdentifier? = nil,
    now: Date = Date()
  ) throws {
    let content = content ?? product
    try changing(now) { files, targets in
      let offers = StoreListing(targets).products[product]?.offers ?? []
      let offer = offers.first { $0.contentIdentifier == content && $0.version == version }
      // As it was written when it was published: 1.0 is the same number as 1, in another folder.
      guard let version = offer?.version else {
        throw ContentError(
          .productUnknown, "The store has no version \(version) of \(content)",
          remedy: "See what it has with hostedcontent store list", subject: product.rawValue)
      }
      files[StoreTargetName.package(product, content, version)] = nil
      files[StoreTargetName.index(product, content, version)] = nil
      RetiredVersions.remember(version, of: content, product, in: &files)
    }
  }
}
