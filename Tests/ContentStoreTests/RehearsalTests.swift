import HostedModel
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

/// Rehearsals of changes, compared with the same changes.
@Suite(.long) struct RehearsalTests {
  private let fixture: PublisherFixture
  private let book = ProductIdentifier("com.example.book")
  private static let day: TimeInterval = 86_400

  init() throws { fixture = try PublisherFixture() }

  private var now: Date { fixture.now }

  // MARK: Comparing

  private struct Entry: Hashable {
    let kind: FileKind
    let permissions: UInt32
    let identity: FileIdentity
    let digest: Digest
  }

  /// Every file and folder of the fixture: store, keys, state and packages.
  private func entries(in directory: Directory? = nil, _ prefix: String = "") throws
    -> [String: Entry]
  {
    let directory = try directory ?? fixture.folder.opened()
    return try directory.entries().reduce(into: [:]) { found, entry in
      let status = try #require(try directory.status(of: entry.name))
      let isFolder = entry.kind == .directory
      let bytes = try isFolder ? [] : directory.contents(of: entry.name, limit: 1 << 30)
      found[prefix + entry.name] = Entry(
        kind: status.kind, permissions: status.permissions, identity: status.identity,
        digest: try Digest(of: bytes))
      guard isFolder else { return }
      let inside = try entries(in: directory.directory(entry.name), "\(prefix)\(entry.name)/")
      found.merge(inside) { $1 }
    }
  }

  /// The path of `file` below the fixture's folder.
  private func path(_ file: StoreRehearsal.File) -> String {
    switch file.kind {
    case .key, .publicationRecord: String(file.path.dropFirst(fixture.folder.path.count + 1))
    case .archive, .index, .record, .metadata: "store/\(file.path)"
    }
  }

  private func sizes(_ files: [StoreRehearsal.File]) -> [String: Int64] {
    Dictionary(uniqueKeysWithValues: files.map { (path($0), $0.bytes) })
  }

  /// Rehearses `change`, which must change nothing, then makes it, and compares the files.
  @discardableResult
  private func compare(
    _ store: StoreFolder, location: SourceLocation = #_sourceLocation,
    _ change: (StoreFolder) throws -> Void
  ) throws -> StoreRehearsal {
    let before = try entries()
    let rehearsal = try store.rehearse(change)
    #expect(try entries() == before, sourceLocation: location)
    try change(store)
    let after = try entries()
    let written = after.filter { path, entry in
      entry.kind == .file && before[path]?.identity != entry.identity
        // A new state folder gets a lock.
        && !path.hasSuffix("/lock")
    }
    #expect(
      sizes(rehearsal.files) == written.mapValues(\.identity.size), sourceLocation: location)
    let removed = before.filter { after[$0.key] == nil }
    #expect(
      sizes(rehearsal.removedFiles) == removed.mapValues(\.identity.size),
      sourceLocation: location)
    return rehearsal
  }

  private func error(_ body: () throws -> Void) -> ContentError? {
    do {
      try body()
      return nil
    } catch {
      return error as? ContentError
    }
  }

  /// Expects that `change` and its rehearsal have the same error, and that both change nothing.
  private func expectFailure(
    _ store: StoreFolder, location: SourceLocation = #_sourceLocation,
    _ change: (StoreFolder) throws -> Void
  ) throws {
    let before = try entries()
    let found = error { _ = try store.rehearse(change) }
    #expect(try entries() == before, sourceLocation: location)
    let expected = error { try change(store) }
    #expect(found != nil && found == expected, sourceLocation: location)
  }

  // MARK: Files

  @Test func `the files of a rehearsal are those of the publication`() throws {
    let store = try fixture.create()
    let packages = try ["1", "2"].map { try fixture.package("com.example.book", $0) }
    let other = try fixture.package("other", "1")
    let new = try compare(store) { try $0.publish([packages[0]], now: now) }
    #expect(
      Set(new.files.map(\.kind)) == [.archive, .index, .record, .metadata, .publicationRecord])
    // In the order of the last writes: the record is written before and after the metadata.
    #expect(new.files.first?.kind == .archive && new.files.last?.kind == .publicationRecord)
    try compare(store) { try $0.publish([packages[1], other], now: now) }
    let unchanged = try compare(store) { try $0.publish([packages[1]], now: now) }
    #expect(unchanged.files.isEmpty && unchanged.changes.isEmpty && unchanged.bytes == 0)
    let details = ProductDetails(title: "Title", price: 1)
    try compare(store) { try $0.publish([packages[1]], details: details, now: now) }
    try compare(store) { try $0.add(ProductIdentifier("club"), details: details, now: now) }
    try compare(store) { try $0.retire(book, version: ContentVersion("1"), now: now) }
  }

  @Test(.slow) func `a rehearsal plans the bins of a large catalog`() throws {
    let store = try fixture.create()
    for count in [120, 150] {
      let products = try (0..<count).map { try ProductIdentifier(validating: "product-\($0)") }
      let details = Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails()) })
      try compare(store) { try $0.add(details, now: now) }
    }
  }

  @Test(
    .slow,
    arguments: [
      [StoreRole.timestamp], [.targets], [.root], [.targets, .snapshot, .timestamp],
      StoreRole.allCases,
    ])
  func `the files of a rehearsal are those of the rotation`(_ roles: [StoreRole]) throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    // An interrupted rotation has left a key.
    let keys = try FileSystem.real.directory(at: "\(fixture.storePath).keys")
    try keys.replaceFile("timestamp-v2.pem", with: SigningKey.generate().pem, mode: 0o600)
    let plan = StoreKeyPlan(counts: [.targets: 2], thresholds: [.targets: 2])
    let rehearsal = try compare(store) { try $0.rotate(roles, plan: plan, now: now) }
    #expect(rehearsal.files.count { $0.kind == .key } >= roles.count)
    #expect(rehearsal.removedFiles.allSatisfy { $0.kind == .key })
    #expect(rehearsal.removedFiles.count >= roles.count && rehearsal.changes.isEmpty)
  }

  @Test func `a rehearsal of a refresh plans what is due`() throws {
    let store = try fixture.create()
    try fixture.add("a", to: store)
    for (days, isDue) in [(0.0, false), (60, true), (300, true), (3400, true)] {
      let later = now.addingTimeInterval(days * Self.day)
      let rehearsal = try compare(store) { try $0.refresh(now: later) }
      #expect(rehearsal.files.isEmpty != isDue, "\(days)")
    }
    try compare(store) { try $0.refresh(everything: true, now: now) }
  }

  @Test func `a new state folder and a missing folder of targets are not created`() throws {
    let store = try fixture.create()
    try FileSystem.real.directory(at: fixture.storePath).removeTree("targets")
    let options = StoreKeyOptions(folderPath: nil, stateFolderPath: fixture.folder.path("a/state"))
    let package = try fixture.package("com.example.book", "1")
    let rehearsal = try compare(try fixture.open(options)) {
      try $0.publish([package], now: now)
    }
    #expect(rehearsal.files.last?.path == fixture.folder.path("a/state/published.json"))
    #expect(try store.products().count == 1)
  }

  @Test func `archives are converted outside of the store`() throws {
    let store = try fixture.create()
    let archive = SourceTree.path("SamplePackages/formats/zip.pkg")
    let rehearsal = try compare(store) {
      try $0.publish([archive], repackaging: true, now: now)
    }
    #expect(rehearsal.files.contains { $0.kind == .archive })
  }

  // MARK: What clients see

  @Test func `a rehearsal has new products and versions, changed fields and retired versions`()
    throws
  {
    let store = try fixture.create()
    let packages = try ["1", "2"].map { try fixture.package("com.example.book", $0) }
    var published: [StoredVersion] = []
    let rehearsal = try store.rehearse {
      published = try $0.publish([packages[0]], now: now).versions
    }
    #expect(published == rehearsal.changes.first?.addedVersions)
    #expect(rehearsal.changes.map(\.isNew) == [true])
    #expect(rehearsal.updates.isEmpty)
    try store.publish([packages[0]], now: now)
    let details = ProductDetails(title: "Book", price: 2)
    let changes = try store.rehearse {
      try $0.publish([packages[1]], details: details, now: now)
    }.changes
    let change = try #require(changes.first)
    #expect(!change.isNew && change.productIdentifier == book)
    #expect(change.fields == [.title(language: "en"), .price])
    #expect(change.addedVersions.map(\.version.rawValue) == ["2"])
    #expect(change.retiredVersions.isEmpty)
    let retired = try store.rehearse {
      try $0.retire(book, version: ContentVersion("1"), now: now)
    }.changes
    #expect(retired.map { $0.retiredVersions.map(\.version.rawValue) } == [["1"]])
    #expect(retired.allSatisfy { $0.fields.isEmpty && $0.addedVersions.isEmpty })
  }

  @Test func `updates are estimated from the last three lower versions`() throws {
    let store = try fixture.create()
    let versions = ["1", "1.1", "1.2", "1.10"]
    for version in versions {
      try store.publish([fixture.package("com.example.book", version)], now: now)
    }
    let package = try fixture.package("com.example.book", "2")
    func updates() throws -> [UpdateEstimate] {
      try store.rehearse { try $0.publish([package], now: now) }.updates
    }
    let found = try updates()
    #expect(found.map(\.installed.rawValue) == ["1.10", "1.2", "1.1"])
    for update in found {
      #expect(update.contentIdentifier == book && update.offered.rawValue == "2")
      #expect(update.wholePackageReason == nil)
      #expect((1..<update.bytesInFull).contains(update.bytesToMove ?? 0))
    }
    let folder = try FileSystem.real.directory(
      at: "\(fixture.storePath)/targets/com.example.book/1.2")
    for entry in try folder.entries() where entry.name.hasSuffix(".content.index") {
      try folder.removeFile(entry.name)
    }
    let lost = try updates().map { $0.bytesToMove == nil }
    #expect(lost == [false, true, false])
  }

  // MARK: Errors

  @Test func `a rehearsal has the errors of the change`() throws {
    let store = try fixture.create()
    let package = try fixture.package("com.example.book", "1")
    let old = try fixture.files()
    try store.publish([package], now: now)
    let next = try fixture.package("com.example.book", "2")
    try fixture.folder.opened().replaceFile("broken.pkg", with: Array("no archive".utf8))
    let broken = [fixture.folder.path("broken.pkg"), fixture.folder.path("missing.pkg"), next]
    try expectFailure(store) { try $0.publish(broken, now: now) }
    try expectFailure(store) { try $0.retire(book, version: ContentVersion("7"), now: now) }
    let consumable = ProductDetails(type: .consumable)
    try expectFailure(store) { try $0.publish([next], details: consumable, now: now) }
    let keys = try FileSystem.real.directory(at: "\(fixture.storePath).keys")
    let root = try keys.directory("root")
    try root.rename("root.pem", to: root, "away")
    try expectFailure(store) { try $0.rotate([.timestamp], now: now) }
    try keys.rename("targets.pem", to: keys, "away")
    try expectFailure(store) { try $0.publish([next], now: now) }
    try keys.rename("away", to: keys, "targets.pem")
    try fixture.putBack(old)
    try expectFailure(store) { try $0.publish([next], now: now) }
  }

  @Test func `a rehearsal does not lock the store, but respects its lock`() throws {
    let store = try fixture.create()
    _ = try store.rehearse { copy in
      try fixture.add("a", to: copy)
      try fixture.add("b", to: store)
    }
    #expect(try store.products().map(\.record.productIdentifier.rawValue) == ["b"])
    let keys = try FileSystem.real.directory(at: "\(fixture.storePath).keys")
    let lock = try keys.updatedFile("lock")
    #expect(try lock.tryLock())
    try expectFailure(store) { try fixture.add("c", to: $0) }
    lock.unlock()
  }

  // MARK: Permissions

  private func setPermissions(_ permissions: UInt32, _ names: [String]) throws {
    for name in names {
      try FileSystem.real.directory(at: fixture.folder.path(name)).setPermissions(permissions)
    }
  }

  @Test func `a rehearsal does not protect keys`() throws {
    let store = try fixture.create()
    try setPermissions(0o777, ["store.keys", "store.keys/root"])
    try FileSystem.real.file(at: "\(fixture.storePath).keys/targets.pem").setPermissions(0o666)
    let before = try entries()
    _ = try store.rehearse { try fixture.add("a", to: $0) }
    _ = try store.rehearse { try $0.rotate(StoreRole.allCases, now: now) }
    #expect(try entries() == before)
  }

  @Test func `a rehearsal in folders without write permission changes nothing`() throws {
    let store = try fixture.create()
    let package = try fixture.package("com.example.book", "1")
    let folders = ["store", "store/metadata", "store/targets", "store.keys", "store.keys/root"]
    try setPermissions(0o555, folders)
    defer { try? setPermissions(0o755, folders) }
    let before = try entries()
    let found = error { _ = try store.rehearse { try $0.publish([package], now: now) } }
    // Root may write everywhere.
    #expect(found?.code == (geteuid() == 0 ? nil : .notPermitted))
    #expect(try entries() == before)
  }

  @Test(.enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func `another user gets the errors of the change`() throws {
    _ = try fixture.create()
    try fixture.folder.opened().setPermissions(0o755)
    try setPermissions(0o755, ["store.keys", "store.keys/root"])
    let keys = try FileSystem.real.directory(at: "\(fixture.storePath).keys")
    for entry in try keys.entries() where entry.kind == .file {
      try keys.file(entry.name).setPermissions(0o644)
    }
    let fixture = fixture
    let book = book
    let now = now
    let errors = try OtherUser.perform { () -> [ContentError?] in
      let store = try fixture.open()
      func error(_ body: () throws -> Void) -> ContentError? {
        do {
          try body()
          return nil
        } catch {
          return error as? ContentError
        }
      }
      return [
        error { _ = try store.rehearse { try $0.add(book, now: now) } },
        error { try store.add(book, now: now) },
      ]
    }
    #expect(errors[0]?.code == .notPermitted)
    #expect(errors[0] == errors[1])
  }
}
