// Publishers use HostedModel's types; one import is enough.
@_exported public import func HostedConcurrency.performBlocking
@_exported public import HostedModel
@_exported public import struct HostedTrust.ReceiptVerificationKey
public import HostedTrust
import HostedPackage
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
  private let place: FolderPlace
  private let options: StoreKeyOptions
  private let isRestored: Bool
  /// Collects changes instead of writing them; nil for a store that is really changed.
  private let rehearsal: RehearsalRecorder?

  static let metadataName = MetadataName.folder
  static let targetsName = StorePath.folder
  private static let timestampName = "timestamp.json"
  /// The prefix of the names of folders in which earlier versions converted archives.
  private static let formerIntakeName = ".repackaging-"

  private init(
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

  /// Creates a store with new keys and an empty catalog.
  ///
  /// Creates the parents of `url` too, and completes a store that a crash left incomplete. Throws
  /// `fileExists` if the folder is a store or has other files, and `usage` if it has the keys, if
  /// they belong to a store, and for an invalid plan or passphrase.
  public static func create(
    at url: URL, keys: StoreKeyOptions = StoreKeyOptions(), plan: StoreKeyPlan = StoreKeyPlan(),
    now: Date = Date()
  ) throws -> StoreFolder {
    try create(at: url.filePath(of: "store"), keys: keys, plan: plan, now: now)
  }

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
      guard try state.record() == nil else {
        // They have signed another store, or this store before its files were lost.
        throw ContentError(
          .usage, "The keys in \(keys.folder.path) already belong to a store",
          remedy: "Restore that store's files from a copy, or use another keys folder",
          subject: keys.folder.path)
      }
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

  /// Opens the store at `url`.
  ///
  /// Throws `storeMissing` if it does not exist. Use `restored` after you restored the files from a
  /// backup. Metadata that is older than the last signed metadata is then not an error
  /// (`storeRolledBack`), and the next change signs it again with higher version numbers. What was
  /// published after the backup is lost, and what was retired after it is offered again. Use it for
  /// one change, not for every change. If the publication record is from the backup too, `recover`.
  public static func open(
    at url: URL, keys: StoreKeyOptions = StoreKeyOptions(), restored: Bool = false
  ) throws -> StoreFolder {
    try open(at: url.filePath(of: "store"), keys: keys, restored: restored)
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

  /// Publishes content packages in one step, with the same details for each product.
  ///
  /// Each package's ContentInfo.plist determines product, content and version. Errors are thrown
  /// before anything is written: for invalid packages, each with all its findings; `versionExists`
  /// for a published version with other bytes, a lower version and a withdrawn one;
  /// `contentClaimed` if another product has the content; `diskFull` if the packages do not fit;
  /// `usage` for invalid details, and for a product of a type without content.
  ///
  /// With `repackaging`, archives of other formats or names are converted first, in a private
  /// folder of the store, so that updates and repairs transfer only what changed. The converted
  /// bytes count as the package. If a product's record was lost, it gets a new record.
  ///
  /// If packages are invalid, calls `didFind` with each finding before it throws. Its subject is
  /// the path of the package, and its path that of an entry.
  @discardableResult
  public func publish(
    _ packages: [URL], details: ProductDetails = ProductDetails(), repackaging: Bool = false,
    now: Date = Date(), didFind: (Finding) -> Void = { _ in }
  ) throws -> Publication {
    try publish(
      packages.map { try $0.filePath(of: "package") }, details: details, repackaging: repackaging,
      now: now, didFind: didFind)
  }

  @discardableResult
  package func publish(
    _ packages: [String], details: ProductDetails = ProductDetails(), repackaging: Bool = false,
    now: Date = Date(), didFind: (Finding) -> Void = { _ in }
  ) throws -> Publication {
    try details.check()
    return try changing(now) { draft, writer in
      try withIntakeFolder(repackaging: repackaging) { intakeFolder -> Publication in
        let intake = PackageIntake(
          catalog: draft, targets: writer, folder: intakeFolder, isRepackaging: repackaging)
        let packages = try intake.packages(at: packages, didFind: didFind)
        let products = Set(packages.map(\.info.productIdentifier)).sorted()
        let changes = try products.compactMap {
          try draft.describe($0, details, withContent: true)
        }
        let absent = packages.filter { !$0.isStored }
        try intake.requireSpace(absent)
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

  /// Runs `body` with a folder for copies of packages and for converted packages, and removes it.
  ///
  /// A dry run copies nothing: the folder is outside of the store, and nil unless `repackaging`.
  private func withIntakeFolder<Value>(repackaging: Bool, _ body: (Directory?) throws -> Value)
    throws -> Value
  {
    if let rehearsal {
      guard repackaging else { return try body(nil) }
      return try rehearsal.fileSystem.withTemporaryDirectory { try body($0) }
    }
    for entry in try folder.entries() where entry.name.hasPrefix(Self.formerIntakeName) {
      try folder.removeTree(entry)
    }
    let targets = try targetsFolder()
    // One name is enough, because the store is locked.
    let intake = try targets.createDirectory(Directory.intakeName, mode: 0o700, exclusive: true)
    // If it cannot be removed now, the next publication removes it.
    defer { try? targets.removeTree(Directory.intakeName) }
    return try body(intake)
  }

  // MARK: Retiring and withdrawing

  /// Removes a version of a content from the catalog.
  ///
  /// Nil is the product's own content. Its files stay, so that running downloads can finish. Its
  /// number cannot be used again: the next version must be higher. If the number is a mistake, use
  /// `withdraw` instead. Throws `productUnknown` if the version does not exist.
  public func retire(
    _ product: ProductIdentifier, version: ContentVersion, content: ProductIdentifier? = nil,
    now: Date = Date()
  ) throws {
    try change(product, content ?? product, version, now) { record, content in
      // In the published spelling: 1.0 equals 1, but has another folder.
      guard let offer = record.offer(content, version) else { return false }
      record.retire(offer)
      return true
    }
  }

  /// Withdraws a version that was published by mistake, such as 9.9 instead of 1.9.
  ///
  /// Nil is the product's own content. Like a retired version, it is not offered anymore, and its
  /// files stay. Unlike one, it does not count as the highest version, so lower versions can
  /// follow. Clients that have installed it replace it with the newest offered version, even if
  /// that is lower. The signed record lists it forever, and its number cannot be used again.
  ///
  /// A retired version can be withdrawn too. Then the other retired versions still count. Throws
  /// `productUnknown` if the version is neither offered nor retired.
  public func withdraw(
    _ product: ProductIdentifier, version: ContentVersion, content: ProductIdentifier? = nil,
    now: Date = Date()
  ) throws {
    try change(product, content ?? product, version, now) { $0.withdraw($1, version) }
  }

  /// Changes the record of `product`; throws `productUnknown` if `change` returns false, because
  /// the record does not have the version.
  private func change(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion,
    _ now: Date, _ change: (inout CatalogRecord, ProductIdentifier) -> Bool
  ) throws {
    try changing(now) { draft, _ in
      guard var record = try draft.record(of: product), change(&record, content) else {
        throw ContentError(
          .productUnknown, "The store has no version \(version) of \(content)",
          remedy: "Check the identifier and version, or list the versions of the store",
          subject: product.rawValue)
      }
      draft.set(record)
    }
  }

  // MARK: Receipt keys

  /// Lists public keys with the earlier ones; returns all listed keys.
  ///
  /// A queue with a `service` then refuses purchases whose receipts these keys have not signed.
  /// List a new key at least a minute before a seller uses it. Receipts of earlier keys stay valid
  /// while their keys are listed. After a theft, use `replacing`: only `keys` are listed then.
  /// Adding a listed key again writes a lost file.
  @discardableResult
  public func addReceiptKeys(
    _ keys: [ReceiptVerificationKey], replacing: Bool = false, now: Date = Date()
  ) throws -> [ReceiptVerificationKey] {
    try changing(now) { draft, _ in
      try draft.listReceiptKeys(keys.map(\.key), replacing: replacing)
        .map { ReceiptVerificationKey(unchecked: $0) }
    }
  }

  /// The listed public keys, the earliest first.
  ///
  /// Needs no signing keys.
  public func receiptKeys() throws -> [ReceiptVerificationKey] {
    try readMetadata().catalog.receiptKeys()?.map { ReceiptVerificationKey(unchecked: $0) } ?? []
  }

  // MARK: Renewing

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
        _ = try writer.keys.keys(of: role.name, in: metadata.root)
      }
      if roles.contains(.root) {
        let known = metadata.root.roles[.root]
        try options.check(newRootKeys: plan.numbers(of: .root, known: known).count)
      }
      let next = try metadata.rotate(roles, plan, with: writer)
      for role in roles { try writer.keys.remove(role.name, of: metadata.root, notIn: next.root) }
    }
  }

  // MARK: Recovering and repairing

  /// Signs all metadata with numbers above those that clients may have seen.
  ///
  /// Use it if the publication record was restored from a backup too, so that the last signed
  /// numbers are unknown. `seen` has the highest numbers that clients may have seen, except of the
  /// root. A role without a number gets the highest of the others. Without numbers, it signs above
  /// the recorded ones, as the next change of a store does that is opened with `restored`. Numbers
  /// below the recorded ones have no effect.
  ///
  /// Needs no root keys. What was published after the backup is lost; what was retired or withdrawn
  /// after it is offered again. If the catalog got more bins after the backup, clients refuse it
  /// until `rotate` replaces the snapshot and timestamp keys. Returns the signed numbers. Throws
  /// `usage` for a number that cannot be a version, and `storeRolledBack` if a root is missing.
  @discardableResult
  public func recover(seen: [StoreRole: Int64] = [:], now: Date = Date()) throws
    -> [StoreRole: Int64]
  {
    try recover(seen: seen, listed: [], now: now)
  }

  /// Signs above `seen` with a snapshot that also lists the files `listed`.
  ///
  /// Clients refuse a snapshot that lacks a file of an earlier one, such as a bin that the backup
  /// does not have.
  @discardableResult
  package func recover(seen: [StoreRole: Int64], listed: Set<String>, now: Date = Date()) throws
    -> [StoreRole: Int64]
  {
    let seen = try Self.numbers(seen)
    return try writing(now, restored: true) { metadata, writer in
      let record = try metadata.above(seen, listing: listed).publish([:], with: writer)
      return Self.versions(record.signed)
    }
  }

  /// The newest root and the numbers of the metadata in the folder; higher ones may be recorded.
  ///
  /// Needs no keys.
  package func newestMetadata() throws -> (root: [UInt8], versions: [StoreRole: Int64]) {
    let metadata = try readMetadata(restored: true)
    let chain = try StoreMetadata.chain(in: metadataFolder, metadata.record, nil)
    return (chain.document.bytes, Self.versions(metadata.versions))
  }

  /// The numbers of all roles except the root.
  ///
  /// Each publication signs the timestamp, but not always the others. So the number of the
  /// timestamp, which is the easiest to find, is enough.
  private static func numbers(_ seen: [StoreRole: Int64]) throws -> [RoleName: Int64] {
    for (role, number) in seen {
      // The next publications need higher numbers.
      guard role != .root, (1..<Int64.max - 1).contains(number) else {
        throw ContentError(
          .usage, "Clients cannot have seen version \(number) of the \(role.rawValue) metadata",
          remedy: "Use numbers of targets, snapshot and timestamp from 1 to \(Int64.max - 2)",
          subject: role.rawValue)
      }
    }
    guard let highest = seen.values.max() else { return [:] }
    return StoreRole.allCases.reduce(into: [:]) {
      if $1 != .root { $0[$1.name] = seen[$1] ?? highest }
    }
  }

  private static func versions(_ versions: [RoleName: SignedVersion]) -> [StoreRole: Int64] {
    StoreRole.allCases.reduce(into: [:]) { $0[$1] = versions[$1.name]?.version }
  }

  /// Repairs a store with inconsistent, lost or damaged metadata files.
  ///
  /// Continues from the newest snapshot and targets that belong together and are signed by the keys
  /// of the store's newest root, and signs them again with higher version numbers. The catalog
  /// loses what was published later: publish it again. What was retired later is offered again.
  /// Returns the version of these targets. Returns nil, without changes, if the metadata is
  /// consistent.
  ///
  /// Roots are not repaired, because clients need every root unchanged. Throws `storeRolledBack` if
  /// the metadata is consistent but older than the last signed metadata, and `storeDamaged` if no
  /// targets are left.
  public static func repair(
    at url: URL, keys: StoreKeyOptions = StoreKeyOptions(), now: Date = Date()
  ) throws -> Int64? {
    try repair(at: url.filePath(of: "store"), keys: keys, now: now)
  }

  package static func repair(
    at path: String, keys: StoreKeyOptions = StoreKeyOptions(), now: Date = Date(),
    fileSystem: FileSystem = .real
  ) throws -> Int64? {
    let store = try StoreFolder(at: path, keys, creating: false, fileSystem)
    guard try store.folder.status(of: metadataName)?.kind == .directory else {
      throw ContentError.storeMissing(path)
    }
    return try store.whileLocked(now) { record, writer in
      do {
        let metadata = try StoreMetadata(
          reading: store.folder, record, restored: false, keys: writer.keys)
        try metadata.catalog.checkLists()
        return nil
      } catch let error as ContentError
        where error.group == .trust || [.storeDamaged, .storeMissing].contains(error.code)
      {
        let metadata = try StoreMetadata(
          repairing: store.folder, writer.folder, record, keys: writer.keys)
        try metadata.publish([:], with: writer)
        return metadata.targets.version
      }
    }
  }

  // MARK: Rehearsing

  /// Runs `change` on a copy of this store that writes nothing, and returns what it would do.
  ///
  /// ```swift
  /// let rehearsal = try store.rehearse { try $0.publish(packages) }
  /// for file in rehearsal.files { print(file.path, file.bytes) }
  /// ```
  ///
  /// The copy can `publish`, `add`, `retire`, `refresh` and `rotate`, and throws what these would
  /// throw: for missing keys, invalid packages, missing permission, or too little free space before
  /// the first write. Each change starts from the store as it is. Nothing is written, no file mode
  /// changes, and no version number is reserved. New keys are only in memory. Only `repackaging`
  /// writes: it converts in a temporary folder outside of the store, which is removed. The copy
  /// does not lock the store, but throws `storeLocked` if another process is publishing. What
  /// `prune` would remove is in `prunableFiles(keepDays:now:)`.
  public func rehearse(_ change: (StoreFolder) throws -> Void) throws -> StoreRehearsal {
    let recorder = RehearsalRecorder(folder)
    let copy = try StoreFolder(
      at: folder.path, options, creating: false, restored: isRestored, rehearsal: recorder,
      folder.fileSystem.readOnly())
    try change(copy)
    return recorder.result
  }

  // MARK: Changing

  /// Publishes the catalog after `change`, if it changed.
  private func changing<Value>(
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

  var metadataFolder: Directory { get throws { try folder.directory(Self.metadataName) } }

  /// Throws if one of the folders is a symbolic link.
  ///
  /// Publishers and local clients do not follow links, so a link cannot redirect writes to another
  /// place.
  private func checkNoLinks() throws {
    for name in [Self.metadataName, Self.targetsName]
    where try folder.status(of: name)?.kind == .link {
      let path = folder.path(of: name)
      throw ContentError(
        .fileSystemUnsupported, "\(path) is a symbolic link, which a store does not follow",
        remedy: "Replace the link with the folder. If it is on another disk, mount it, for example "
          + "with mount --bind", subject: path)
    }
  }

  /// Opens `targets`, and creates it if needed: a git copy does not contain an empty folder.
  func targetsFolder() throws -> Directory { try folder.createServedDirectory(Self.targetsName) }

  /// The verified metadata, for a reader without keys; with `restored`, it may be older than
  /// recorded.
  func readMetadata(restored: Bool = false) throws -> StoreMetadata {
    try StoreMetadata(
      reading: folder, knownRecord(), restored: isRestored || restored, keys: nil)
  }

  /// Runs `body` with the verified metadata, while the store is locked for other publishers.
  ///
  /// With `restored`, the files may be older than recorded.
  func writing<Value>(
    _ now: Date, restored: Bool = false, _ body: (StoreMetadata, MetadataWriter) throws -> Value
  ) throws -> Value {
    try whileLocked(now) { record, writer in
      let metadata = try StoreMetadata(
        reading: folder, record, restored: isRestored || restored, keys: writer.keys)
      if metadata.record != record { try writer.state.save(metadata.record) }
      if rehearsal == nil { try metadata.postponeLaterSnapshots(writer) }
      do {
        return try body(metadata, writer)
      } catch let error as ContentError where error.code == .storeMissing {
        // Name a lost bin as a publisher knows it.
        guard let path = error.subject, path.hasPrefix("\(Self.metadataName)/") else { throw error }
        throw ContentError.metadataLost(folder.path(of: path), error)
      }
    }
  }

  /// Runs `body` with the publication record, while the store is locked for other publishers.
  private func whileLocked<Value>(
    _ now: Date, _ body: (PublicationRecord?, MetadataWriter) throws -> Value
  ) throws -> Value {
    try MetadataWriter.check(now)
    try checkKeysAreOutside()
    let keys = try keys()
    let state = try state(keys)
    return try state.whileLocked(folder) {
      let writer = MetadataWriter(folder: try preparedMetadataFolder(), state: state, now: now)
      return try body(state.record(), writer)
    }
  }

  /// Opens `metadata`, and removes what an interrupted publication has left in both folders.
  private func preparedMetadataFolder() throws -> Directory {
    guard rehearsal == nil else { return try metadataFolder }
    let metadata = try folder.createServedDirectory(Self.metadataName)
    let targets = try targetsFolder()
    for folder in [metadata, targets] { try folder.removeLeftover() }
    try targets.removeTree(Directory.intakeName)
    return metadata
  }

  // MARK: Keys and the publication record

  /// The publication record; nil if it does not exist or this process cannot read it.
  func knownRecord() throws -> PublicationRecord? {
    try nilIf(.notPermitted) {
      let state = try options.stateFolderPath.flatMap {
        try StoreKeys.opened($0, folder.fileSystem)
      }
      if let record = try state.flatMap(StoreState.record) { return record }
      return try keysFolder().flatMap(StoreState.record)
    }
  }

  /// The actual or expected path of the keys.
  package var keysPath: String {
    get throws {
      try options.folderPath ?? folder.fileSystem.directory(at: place.parent).path(of: keysName)
    }
  }

  private func keys(creating: Bool = false) throws -> StoreKeys {
    guard let keys = try keysFolder(creating: creating) else {
      let path = try keysPath
      throw ContentError(
        .keyUnusable, "The store's keys are not in \(path)",
        remedy: "Restore the keys folder that was created with the store, or specify its path",
        subject: path)
    }
    return try StoreKeys(keys, options, creating: creating, rehearsal: rehearsal)
  }

  /// The keys, for a reader; nil if they do not exist or this process cannot read them.
  func readableKeys() throws -> StoreKeys? {
    try nilIf(.notPermitted) {
      try keysFolder().map {
        try StoreKeys($0, options, creating: false, protecting: false)
      }
    }
  }

  /// Returns the folder of the publication record and the lock; creates the folder.
  private func state(_ keys: StoreKeys) throws -> StoreState {
    var state = StoreState(folder: keys.folder, keys: keys)
    guard let path = options.stateFolderPath else { return state }
    if let existing = try StoreKeys.opened(path, folder.fileSystem) {
      state.folder = existing
    } else if rehearsal == nil {
      state.folder = try StoreKeys.created(path, folder.fileSystem)
    } else {
      state.newFolder = path
    }
    return state
  }

  private var keysName: String { "\(place.name).keys" }

  private func keysFolder(creating: Bool = false) throws -> Directory? {
    let fileSystem = folder.fileSystem
    if let path = options.folderPath {
      return try creating
        ? StoreKeys.created(path, fileSystem) : StoreKeys.opened(path, fileSystem)
    }
    let parent = try fileSystem.directory(at: place.parent)
    return try StoreKeys.opened(keysName, in: parent, creating: creating)
  }

  /// Throws `usage` if the folder of the keys or of the publication record is in the served folder.
  private func checkKeysAreOutside() throws {
    let paths = [options.folderPath, options.rootFolderPath, options.stateFolderPath]
    let store = realComponents(folder.path)
    for path in paths.compactMap(\.self) where realComponents(path).starts(with: store) {
      throw ContentError(
        .usage, "The keys or state folder \(path) is inside the store, which is public",
        remedy: "Use a folder that no web server serves", subject: path)
    }
  }
}

/// The result of a publication.
public struct Publication: Hashable, Sendable {
  /// The versions whose files were written: new versions, and published versions with lost or
  /// damaged files.
  public let versions: [StoredVersion]
  /// The products of the packages with new or changed descriptions.
  public let changes: [ProductChange]
}

extension ContentError {
  /// The folder at `path` is not a store, or its timestamp is lost.
  static func storeMissing(_ path: String) -> ContentError {
    ContentError(
      .storeMissing, "Cannot open the store at \(path): metadata/timestamp.json not found",
      remedy: "Check the path, or create a store there. If the file was lost, repair the store",
      subject: path)
  }
}
