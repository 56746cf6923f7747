import ContentStore
import HostedConcurrency
import HostedDigests
import HostedFileIO
import HostedModel
import HostedPackage
import HostedTestSupport
import HostedTrust
import Testing

/// How a publication reads packages, and which bytes it publishes.
@Suite struct PackageIntakeTests {
  private let fixture: PublisherFixture
  private let book = ProductIdentifier("com.example.book")

  init() throws { fixture = try PublisherFixture() }

  /// Builds a package with `length` bytes that do not compress; returns its path.
  private func largePackage(_ name: String, length: Int) throws -> String {
    let directory = try fixture.folder.opened()
    let source = try directory.createDirectory("source-\(name)", exclusive: true)
    var random = SplitMix(state: 7)
    try source.createDirectory("Contents").replaceFile("data", with: random.bytes(length))
    _ = try buildPackage(
      folder: source, output: directory, outputName: name, productIdentifier: book,
      version: ContentVersion(validating: "1"))
    return fixture.folder.path(name)
  }

  /// The archive of the only version, and its bytes.
  private func published() throws -> (digest: Digest, bytes: [UInt8]) {
    let folder = try FileSystem.real.directory(at: "\(fixture.storePath)/targets/\(book)/1")
    let names = try folder.entries().map(\.name).filter { $0.hasSuffix(".content.pkg") }
    #expect(names.count == 1)
    let name = try #require(names.first)
    let digest = try #require(Digest(hex: name.prefix { $0 != "." }))
    return (digest, try folder.contents(of: name, limit: 1 << 30))
  }

  @Test("Publishing a package reads at most 2.2 times its bytes, and a dry run too")
  func reads() throws {
    _ = try fixture.create()
    let length = 6 << 20
    let package = try largePackage("large.pkg", length: length)
    for isDryRun in [true, false] {
      let calls = CountedCalls()
      let store = try fixture.open(fileSystem: FileSystem(calls: calls))
      if isDryRun {
        let rehearsal = try store.rehearse { try $0.publish([package], now: fixture.now) }
        #expect(rehearsal.files.contains { $0.kind == .archive })
      } else {
        #expect(try store.publish([package], now: fixture.now).versions.count == 1)
      }
      let ratio = Double(calls.bytesRead) / Double(length)
      #expect(ratio > 1.9 && ratio <= 2.2, "\(ratio)")
    }
    #expect(try published().bytes.count > length)
  }

  @Test("Another version of the file that appears after the copy is not published")
  func changed() throws {
    let store = try fixture.create()
    let package = try largePackage("large.pkg", length: 1 << 20)
    let directory = try fixture.folder.opened()
    let before = try directory.contents(of: "large.pkg", limit: 1 << 30)
    let hasChanged = Mutex(false)
    let fileSystem = FileSystem(willPerform: { operation, path in
      // The second pass reads the copy.
      guard operation == .read, path.contains("/targets/.publication/") else { return }
      let isFirst = hasChanged.withLock { changed in
        defer { changed = true }
        return !changed
      }
      guard isFirst else { return }
      try directory.updatedFile("large.pkg").write([UInt8](repeating: 1, count: 4096))
    })
    try fixture.open(fileSystem: fileSystem).publish([package], now: fixture.now)
    #expect(hasChanged.withLock { $0 })
    #expect(try directory.contents(of: "large.pkg", limit: 1 << 30) != before)
    let published = try published()
    #expect(published.bytes == before)
    #expect(try published.digest == Digest(of: before))
    #expect(try store.verify().damages.isEmpty)
  }

  @Test("The next change removes the packages of a killed publication")
  func killed() throws {
    let store = try fixture.create()
    let targets = try FileSystem.real.directory(at: "\(fixture.storePath)/targets")
    try targets.createDirectory(".publication", mode: 0o700).replaceFile("0.pkg", with: [1, 2])
    #expect(try store.prunableFiles(now: fixture.now).unknown.isEmpty)
    try fixture.add("com.example.other", to: store)
    #expect(try targets.status(of: ".publication") == nil)
  }

  @Test("Nothing stays after a publication, a refusal, and a repeated publication")
  func tidy() throws {
    let store = try fixture.create()
    let package = try fixture.package("com.example.book", "1")
    let directory = try fixture.folder.opened()
    try directory.replaceFile("broken.pkg", with: [1, 2, 3])
    #expect(throws: ContentError.self) {
      try store.publish([package, fixture.folder.path("broken.pkg")], now: fixture.now)
    }
    #expect(try fixture.names("store/targets").isEmpty)
    #expect(try store.publish([package, package], now: fixture.now).versions.count == 1)
    let names = try fixture.names("store/targets")
    #expect(!names.contains(".publication"))
    #expect(try store.publish([package], now: fixture.now).versions.isEmpty)
    #expect(try fixture.names("store/targets") == names)
  }

  @Test("Packages that do not fit are reported before anything is published")
  func full() throws {
    _ = try fixture.create()
    let package = try largePackage("large.pkg", length: 1 << 20)
    let store = try fixture.open(fileSystem: FileSystem(calls: CountedCalls(freeBytes: 1 << 20)))
    let error = #expect(throws: ContentError.self) {
      try store.publish([package], now: fixture.now)
    }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("where \(1 << 20) are free") == true)
    #expect(try fixture.names("store/targets").isEmpty)
  }
}
