public import HostedModel
import HostedPackage
import HostedTrust
package import HostedFileIO
public import FoundationEssentials

/// A store's folder, for its publisher: products, versions and signed metadata.
///
/// Any web server can serve the folder. Its keys are beside it, in `<store>.keys`. Its root keys
/// are in `<store>.keys/root`, a folder that can be kept offline. Signatures expire: root after 10
/// years, targets and snapshot after 1 year, timestamp after 90 days. Each publication renews the
/// last three; `refresh` renews what has less than half of its lifetime left (root: a year).
///
/// A publication is atomic: during it and after a crash, clients see the complete old or new
/// catalog. A second publisher gets `ContentError.Code.storeLocked`. Signatures have the date
/// `now`; it is `usage` after the year 9986. Thread-safe. Calls block; in a task, use them in
/// `performBlocking`.
public final class StoreFolder: Sendable {
  let folder: Directory
  let place: FolderPlace
  let options: StoreKeyOptions
  let isRestored: Bool
  /// Collects changes instead of writing them; nil for a store that is really changed.
  let rehearsal: RehearsalRecorder?

  static let metadataName = MetadataName.folder
  static let targetsName = StorePath.folder
  private static let timestampName = "timestamp.json"

  init(
    at path: String, _ options: StoreKeyOptions, creating: Bool, restored: Bool = false,
    rehearsal: RehearsalRecorder? = nil, _ fileSystem: FileSystem
  ) throws {
    try options.check()
    isRestored = restored
    self.rehearsal = rehearsal
    place = try FolderPlace(path)
    self.options = options
    let isNew = creating && !FolderPlace.exists(path)
    folder = try fileSystem.directory(at: path, creating: creating)
    if isNew { try folder.makeReadable(unlessShared: false) }
    try checkNoLinks()
  }

  // MARK: Creating and opening

  package static func create(
    at path: String, keys options: StoreKeyOptions = StoreKeyOptions(),
    plan: StoreKeyPlan = StoreKeyPlan(), now: Date = Date(), fileSystem: FileSystem = .real
  ) throws -> StoreFolder {
    for role in StoreRole.allCases {
      let count = try plan.numbers(of: role).count
      if role == .root { try options.check(newRootKeys: count) }
    }
    try MetadataWriter.check(now)
    let store = try StoreFolder(at: path, options, creating: true, fileSystem)
    try store.checkVacancy()
    try store.checkKeysAreOutside()
    let keys = try store.keys(creating: true)
    let state = try store.state(keys)
    try state.whileLocked(store.folder) {
      try store.checkVacancy()
      guard try state.record() == nil else { throw store.keysInUse(keys) }
      let metadata = try store.folder.createServedDirectory(metadataName)
      try store.folder.createServedDirectory(targetsName)
      try store.folder.sync()
      try fileSystem.directory(at: store.place.parent).sync()
      try StoreMetadata.create(
        plan, with: MetadataWriter(folder: metadata, state: state, now: now))
    }
    return store
  }

  private func checkVacancy() throws {
    if try isStore {
      throw ContentError(
        .fileExists, "\(folder.path) is already a store",
        remedy: "Publish to it, or use another path",
        subject: folder.path)
    }
    let others = try folder.entries().map(\.name).filter {
      $0 != Self.metadataName && $0 != Self.targetsName
    }
    guard others.isEmpty else {
      throw ContentError(
        .fileExists, "\(folder.path) contains other files, such as \(others.min() ?? "")",
        remedy: "Use a new or empty folder", subject: folder.path)
    }
  }

  private var isStore: Bool {
    get throws {
      guard try folder.status(of: Self.metadataName)?.kind == .directory else { return false }
      return try folder.directory(Self.metadataName).status(of: Self.timestampName) != nil
    }
  }

  package static func open(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(), restored: Bool = false,
    fileSystem: FileSystem = .real
  ) throws -> StoreFolder {
    do {
      let store = try StoreFolder(
        at: path, keys, creating: false, restored: restored, fileSystem)
      if try store.isStore { return store }
    } catch let error as ContentError where error.code == .fileMissing {}
    throw ContentError.storeMissing(path)
  }

  // MARK: Reading

  /// The store's first root metadata.
  ///
  /// Clients need it. Throws `rootMismatch` if the publication record has another root.
  public func initialRoot() throws -> [UInt8] {
    try RootChain.first(in: metadataFolder, knownRecord()?.firstRoot).0.bytes
  }

  /// The products of the store with all published versions, by identifier.
  ///
  /// Needs no keys. If this process can read the publication record, the metadata is checked as for
  /// a publication. Otherwise the store's own first root is trusted, so the result is as
  /// trustworthy as the folder.
  public func products() throws -> [StoredProduct] {
    let metadata = try readMetadata()
    var products: [StoredProduct] = []
    try metadata.forEachList(in: folder) { contents in
      if let error = contents.errors.first { throw error }
      products += contents.records.map(StoredProduct.init)
    }
    return products.sorted { $0.record.productIdentifier < $1.record.productIdentifier }
  }

  // MARK: Publishing

  @discardableResult
  package func publish(
    _ packages: [String], details: ProductDetails = ProductDetails(), repackaging: Bool = false,
    now: Date = Date(), didFind: (PackageFinding) -> Void = { _ in }
  ) throws -> Publication {
    try details.check()
    return try changing(now) { draft, writer in
      try withConversionFolder(needed: repackaging) { conversionFolder -> Publication in
        let intake = PackageIntake(
          fileSystem: folder.fileSystem, catalog: draft, conversionFolder: conversionFolder)
        let packages = try intake.packages(at: packages, didFind: didFind)
        let products = Set(packages.map(\.info.productIdentifier)).sorted()
        let changes = try products.compactMap {
          try draft.describe($0, details, withContent: true)
        }
        let absent = try packages.filter { try $0.published.map(writer.has) != true }
        try intake.requireSpace(absent, in: folder)
        let offers = try absent.map(writer.write)
        for offer in offers { try draft.add(offer) }
        return Publication(versions: offers.map(StoredVersion.init), changes: changes)
      }
    }
  }

  /// Adds a product without content, or changes the description of a product.
  ///
  /// Returns nil if nothing changed. Throws `contentClaimed` for a new product with the identifier
  /// of another product's content, and `usage` for invalid details.
  @discardableResult
  public func add(
    _ product: ProductIdentifier, details: ProductDetails = ProductDetails(), now: Date = Date()
  ) throws -> ProductChange? {
    try add([product: details], now: now).first
  }

  /// Adds products without content, or changes the descriptions of products, in one step.
  ///
  /// Returns the changes, by product. Throws `contentClaimed` for a new product with the identifier
  /// of another product's content, and `usage` for invalid details.
  @discardableResult
  public func add(_ products: [ProductIdentifier: ProductDetails], now: Date = Date()) throws
    -> [ProductChange]
  {
    for details in products.values { try details.check() }
    return try changing(now) { draft, _ in
      try draft.inListOrder(products.keys).compactMap { product in
        if let other = try draft.owner(of: product), other != product {
          throw ContentError.productClaimed(product, by: other)
        }
        return try products[product].flatMap {
          try draft.describe(product, $0, withContent: false)
        }
      }.sorted { $0.productIdentifier < $1.productIdentifier }
    }
  }

  /// Publishes the catalog after `change`, if it changed.
  func changing<Value>(
    _ now: Date, _ change: (inout CatalogDraft, TargetWriter) throws -> Value
  ) throws -> Value {
    try writing(now) { metadata, writer in
      let targets = TargetWriter(store: folder, rehearsal: rehearsal)
      var draft = CatalogDraft(metadata.catalog, targets)
      let value = try change(&draft, targets)
      let changes = try draft.write()
      if let rehearsal {
        for (old, new) in try draft.changes() { try rehearsal.add(from: old, to: new, in: folder) }
      }
      if !changes.isEmpty || metadata.needsSigning {
        try metadata.publish(changes, with: writer)
      }
      return value
    }
  }

  // MARK: Maintenance

  /// The result of a refresh.
  public struct Renewal: Hashable, Sendable {
    /// The roles that were signed again; empty if nothing was due.
    public let roles: [StoreRole]
    /// The expiry of the root if it is due and its keys are not available; nil otherwise.
    public let rootExpires: Date?
  }

  /// Renews metadata with less than half of its lifetime left, so that the catalog stays valid.
  ///
  /// Safe to repeat: what is not due does not change, unless `everything` is true. The root is due
  /// if less than a year is left. If its keys are not available, the other roles are still renewed,
  /// and `rootExpires` is the root's expiry.
  @discardableResult
  public func refresh(everything: Bool = false, now: Date = Date()) throws -> Renewal {
    try writing(now) { metadata, writer in
      var metadata = metadata
      var roles: [StoreRole] = []
      var rootExpires: Date?
      if metadata.isRootDue(now: now) {
        if try writer.keys.canSignRoot(metadata.root) {
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

  /// Gives roles new keys in one new root, and signs their metadata again.
  ///
  /// Needs as many root keys as the root requires, but not the old keys of the roles, which may be
  /// lost. Clients that trust an earlier root follow the chain, and can read the store at any time:
  /// until the next change, the metadata that was signed again is signed by old and new keys. New
  /// timestamp or snapshot keys also make clients discard versions that an attacker signed with
  /// stolen keys. The files of old keys are removed at the end. Throws `usage` for an invalid plan.
  ///
  /// If old keys are lost, clients cannot refresh between the publication of root and timestamp, or
  /// if it is interrupted there, until the next `refresh` or publication.
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
}
