import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(.long) struct StoreKeyTests {
  private let folder: TemporaryFolder
  private let now = Date(timeIntervalSince1970: 1_900_000_000)
  private let book: ProductIdentifier
  private static let day: TimeInterval = 86_400

  init() throws {
    folder = try TemporaryFolder()
    book = ProductIdentifier("com.example.book")
  }

  private var storePath: String { folder.path("store") }

  private func open(_ keys: StoreKeyOptions = StoreKeyOptions()) throws -> StoreFolder {
    try StoreFolder.open(at: storePath, keys: keys)
  }

  /// Returns a client that keeps its trusted metadata in `trust`, at `time`.
  private func client(_ trust: TemporaryFolder, of path: String? = nil, at time: Date? = nil) throws
    -> TrustClient
  {
    let time = time ?? now
    return TrustClient(
      trustFolder: try trust.opened(),
      fetcher: FolderFetcher(try FileSystem.real.directory(at: path ?? storePath)), now: { time })
  }

  private func names(_ path: String) throws -> Set<String> {
    Set(try FileSystem.real.directory(at: folder.path(path)).entries().map(\.name))
  }

  // MARK: Key folders

  @Test func `offline root keys are only needed for the root`() throws {
    let keys = StoreKeyOptions(rootFolder: URL(filePath: folder.path("safe")))
    let store = try StoreFolder.create(at: storePath, keys: keys, now: now)
    #expect(try names("safe") == ["root.pem"])
    try folder.opened().rename("safe", to: folder.opened(), "elsewhere")

    try store.add(book, details: ProductDetails(type: .consumable), now: now)
    let renewal = try store.refresh(everything: true, now: now)
    #expect(renewal.roles == [.targets, .snapshot, .timestamp])
    #expect(renewal.rootExpires == nil)
    let error = #expect(throws: ContentError.self) { try store.rotate([.timestamp], now: now) }
    #expect(error?.code == .keyUnusable)
    #expect(error?.remedy.contains("root keys") == true)

    try open(StoreKeyOptions(rootFolder: URL(filePath: folder.path("elsewhere")))).rotate(
      [.timestamp], now: now)
    let trust = try TemporaryFolder()
    #expect(try client(trust).refresh(initialRoot: store.initialRoot()).targets.count == 1)
  }

  @Test func `without the root keys, a refresh returns the root's expiry and renews the rest`()
    throws
  {
    let keys = StoreKeyOptions(rootFolder: URL(filePath: folder.path("safe")))
    let store = try StoreFolder.create(at: storePath, keys: keys, now: now)
    try folder.opened().removeTree("safe")
    let later = now.addingTimeInterval(3300 * Self.day)
    let renewal = try store.refresh(now: later)
    #expect(renewal.roles == [.targets, .snapshot, .timestamp])
    #expect(renewal.rootExpires == now.addingTimeInterval(3650 * Self.day))
  }

  @Test func `a refresh that cannot open the root keys' file fails, and does not call it missing`()
    throws
  {
    try StoreFolder.create(at: storePath, now: now).add(book, now: now)
    let store = try StoreFolder.open(
      at: storePath, fileSystem: .failing(.open, at: "root.pem", as: SystemFailure(EMFILE)))
    let later = now.addingTimeInterval(3300 * Self.day)
    #expect(code { try store.refresh(now: later) } == .tooManyFiles)
    #expect(try open().refresh(now: later).roles == StoreRole.allCases)
  }

  @Test(arguments: ["store/keys", "store/metadata/../targets/k", "store"])
  func `keys are never inside the served folder`(_ path: String) throws {
    for keys in [
      StoreKeyOptions(folder: URL(filePath: folder.path(path))),
      StoreKeyOptions(rootFolder: URL(filePath: folder.path(path))),
    ] {
      #expect(code { _ = try StoreFolder.create(at: storePath, keys: keys, now: now) } == .usage)
    }
  }

  @Test func `a rotation keeps a copy of another store's key`() throws {
    let store = try StoreFolder.create(at: storePath, now: now)
    _ = try StoreFolder.create(at: folder.path("other"), now: now)
    let other = try FileSystem.real.directory(at: folder.path("other.keys"))
    let key = try other.contents(of: "timestamp.pem", limit: 1 << 16)
    try FileSystem.real.directory(at: folder.path("store.keys"))
      .replaceFile("timestamp-vienna.pem", with: key, mode: 0o600)
    try store.rotate([.timestamp], now: now)
    #expect(try names("store.keys").contains("timestamp-vienna.pem"))
    #expect(try !names("store.keys").contains("timestamp.pem"))
  }

  @Test func `a keys folder on the web is refused`() throws {
    let url = try #require(URL(string: "https://example.com\(folder.path("keys"))"))
    for keys in [
      StoreKeyOptions(folder: url), StoreKeyOptions(rootFolder: url),
      StoreKeyOptions(stateFolder: url),
    ] {
      #expect(code { _ = try StoreFolder.create(at: storePath, keys: keys, now: now) } == .usage)
    }
    #expect(try folder.opened().entries().isEmpty)
  }

  @Test func `every keys folder has mode 0700`() throws {
    let keys = StoreKeyOptions(
      folder: URL(filePath: folder.path("deep/keys")),
      rootFolder: URL(filePath: folder.path("deep/root-keys")))
    _ = try StoreFolder.create(at: storePath, keys: keys, now: now)
    let deep = try FileSystem.real.directory(at: folder.path("deep"))
    #expect(try deep.status(of: "keys")?.permissions == 0o700)
    #expect(try deep.status(of: "root-keys")?.permissions == 0o700)
    #expect(try folder.opened().status(of: "store.keys") == nil)
    #expect(code { try open().add(book, now: now) } == .keyUnusable)
    try open(keys).add(book, now: now)
  }

  @Test func `the root key of an older store is found in the keys' folder`() throws {
    let store = try StoreFolder.create(at: storePath, now: now)
    let keys = try FileSystem.real.directory(at: folder.path("store.keys"))
    try keys.directory("root").rename("root.pem", to: keys, "root.pem")
    try keys.removeTree("root")
    try store.rotate([.timestamp], now: now)
    #expect(try names("store/metadata").contains("2.root.json"))
    let trust = try TemporaryFolder()
    #expect(try client(trust).refresh(initialRoot: store.initialRoot()).version == 1)
  }

  // MARK: Passphrases

  @Test func `encrypted keys need their passphrase, and there is no prompt`() throws {
    let secret = StoreKeyOptions(
      passphrase: Array("online".utf8), rootPassphrases: [Array("offline".utf8)])
    let store = try StoreFolder.create(at: storePath, keys: secret, now: now)
    let keys = try FileSystem.real.directory(at: folder.path("store.keys"))
    let text = String(
      decoding: try keys.contents(of: "targets.pem", limit: 1 << 16), as: UTF8.self)
    #expect(text.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
    try store.add(book, now: now)
    try store.rotate([.root], now: now)

    #expect(
      code { try open().add(book, details: ProductDetails(title: "T"), now: now) }
        == .passphraseWrong)
    let wrong = StoreKeyOptions(passphrase: Array("offline".utf8))
    #expect(code { try open(wrong).refresh(everything: true, now: now) } == .passphraseWrong)
    let online = StoreKeyOptions(passphrase: Array("online".utf8))
    try open(online).add(book, details: ProductDetails(title: "T"), now: now)
    #expect(code { try open(online).rotate([.targets], now: now) } == .passphraseWrong)
  }

  @Test(arguments: [[], [0], [UInt8](repeating: 65, count: 1024)])
  func `a passphrase that libcrypto would truncate is refused`(_ passphrase: [UInt8]) throws {
    let keys = StoreKeyOptions(passphrase: passphrase)
    #expect(code { _ = try StoreFolder.create(at: storePath, keys: keys, now: now) } == .usage)
  }

  // MARK: Types and thresholds

  @Test(arguments: SlowTests.cases(StoreKeyType.allCases, quick: 2))
  func `keys of each type sign a store that clients trust`(_ type: StoreKeyType) throws {
    let store = try StoreFolder.create(
      at: storePath, plan: StoreKeyPlan(type: type), now: now)
    try store.add(book, now: now)
    let trust = try TemporaryFolder()
    #expect(try client(trust).refresh(initialRoot: store.initialRoot()).targets.count == 1)
  }

  @Test func `any two of three root keys can sign`() throws {
    let plan = StoreKeyPlan(counts: [.root: 3, .targets: 2], thresholds: [.root: 2, .targets: 2])
    let store = try StoreFolder.create(at: storePath, plan: plan, now: now)
    #expect(try names("store.keys/root") == ["root-1.pem", "root-2.pem", "root-3.pem"])
    let root = try FileSystem.real.directory(at: folder.path("store.keys/root"))
    try root.removeFile("root-2.pem")
    try store.rotate([.snapshot], now: now)
    #expect(try names("store/metadata").contains("2.root.json"))
    let trust = try TemporaryFolder()
    #expect(try client(trust).refresh(initialRoot: store.initialRoot()).version == 1)
    try root.removeFile("root-1.pem")
    let error = #expect(throws: ContentError.self) { try store.rotate([.snapshot], now: now) }
    #expect(error?.message.contains("1 of the 2 usable root keys") == true)
  }

  @Test(arguments: [
    StoreKeyPlan(counts: [.root: 0]), StoreKeyPlan(thresholds: [.root: 2]),
    StoreKeyPlan(counts: [.targets: 2], thresholds: [.targets: 0]),
    StoreKeyPlan(counts: [.root: 65]),
  ])
  func `a threshold that cannot be reached is refused before anything is made`(_ plan: StoreKeyPlan)
    throws
  {
    #expect(code { _ = try StoreFolder.create(at: storePath, plan: plan, now: now) } == .usage)
    #expect(try folder.opened().entries().isEmpty)
  }

  // MARK: Rotation

  @Test(.slow, arguments: StoreRole.allCases)
  func `each role gets new keys, and clients of the first root can follow`(_ role: StoreRole)
    throws
  {
    let store = try StoreFolder.create(at: storePath, now: now)
    try store.add(book, now: now)
    let trust = try TemporaryFolder()
    _ = try client(trust).refresh(initialRoot: store.initialRoot())
    try store.rotate([role], now: now)
    #expect(try client(trust).refresh(initialRoot: nil).targets.count == 1)
    try store.rotate([role], plan: StoreKeyPlan(type: .ecdsa), now: now)
    #expect(try client(trust).refresh(initialRoot: nil).targets.count == 1)
    let place = role == .root ? "store.keys/root" : "store.keys"
    #expect(try names(place).contains("\(role.rawValue)-v3.pem"))
    #expect(try !names(place).contains("\(role.rawValue).pem"))
    #expect(try !names(place).contains("\(role.rawValue)-v2.pem"))
    try store.add(ProductIdentifier("another"), now: now)
    #expect(try client(trust).refresh(initialRoot: nil).targets.count == 2)
  }

  @Test func `all roles at once are one step of the root`() throws {
    let store = try StoreFolder.create(at: storePath, now: now)
    try store.rotate(StoreRole.allCases, now: now)
    #expect(try names("store/metadata").filter { $0.hasSuffix(".root.json") }.count == 2)
    let trust = try TemporaryFolder()
    #expect(try client(trust).refresh(initialRoot: store.initialRoot()).version == 2)
  }

  @Test func `a lost online key is replaced`() throws {
    let store = try StoreFolder.create(at: storePath, now: now)
    let keys = try FileSystem.real.directory(at: folder.path("store.keys"))
    for name in ["targets.pem", "snapshot.pem", "timestamp.pem"] { try keys.removeFile(name) }
    #expect(code { try store.rotate([.targets], now: now) } == .keyUnusable)
    try store.rotate([.targets, .snapshot, .timestamp], now: now)
    try store.add(book, now: now)
    let trust = try TemporaryFolder()
    #expect(try client(trust).refresh(initialRoot: store.initialRoot()).targets.count == 1)
  }

  @Test(.slow)
  func `after a failure at any step of a rotation, a refresh or another rotation completes it`()
    throws
  {
    var (step, fired) = (0, true)
    while fired {
      step += 1
      // A new store each time, because every root adds steps.
      let path = folder.path("store-\(step)")
      let store = try StoreFolder.create(at: path, now: now)
      try store.add(book, now: now)
      let trust = try TemporaryFolder()
      _ = try client(trust, of: path).refresh(initialRoot: store.initialRoot())
      let fault = FaultPlan(failing: step)
      let failure = code {
        try StoreFolder.open(at: path, fileSystem: fault.fileSystem)
          .rotate(StoreRole.allCases, now: now)
      }
      fired = fault.hasFired
      guard failure != nil else { continue }
      if step.isMultiple(of: 2) {
        try store.refresh(now: now)
      } else {
        try store.rotate(StoreRole.allCases, now: now)
      }
      #expect(try client(trust, of: path).refresh(initialRoot: nil).targets.count == 1)
    }
    #expect(step > 30)
  }

  @Test func `a store survives two interrupted rotations in a row`() throws {
    let store = try StoreFolder.create(at: storePath, now: now)
    try store.add(book, now: now)
    let trust = try TemporaryFolder()
    _ = try client(trust).refresh(initialRoot: store.initialRoot())
    // Without the old keys, the root has to be written before the timestamp.
    let keys = try FileSystem.real.directory(at: folder.path("store.keys"))
    for name in ["targets.pem", "snapshot.pem", "timestamp.pem"] { try keys.removeFile(name) }
    let broken = FileSystem.failing(.rename, at: "timestamp.json")
    for _ in 0..<2 {
      let failure = code {
        try StoreFolder.open(at: storePath, fileSystem: broken)
          .rotate([.targets, .snapshot, .timestamp], now: now)
      }
      #expect(failure == .diskFull)
    }
    #expect(code { _ = try client(trust).refresh(initialRoot: nil) } == .signatureInvalid)
    try store.refresh(now: now)
    #expect(try client(trust).refresh(initialRoot: nil).targets.count == 1)
  }

  // MARK: Refresh

  @Test func `a refresh renews metadata with less than half of its lifetime left`() throws {
    let store = try StoreFolder.create(at: storePath, now: now)
    func roles(after days: TimeInterval) throws -> [StoreRole] {
      try store.refresh(now: now.addingTimeInterval(days * Self.day)).roles
    }
    #expect(try roles(after: 44).isEmpty)
    #expect(try roles(after: 46) == [.timestamp])
    #expect(try roles(after: 90).isEmpty)
    #expect(try roles(after: 184) == [.targets, .snapshot, .timestamp])
    #expect(try roles(after: 185).isEmpty)
    #expect(try roles(after: 3290) == [.root, .targets, .snapshot, .timestamp])
  }
}
