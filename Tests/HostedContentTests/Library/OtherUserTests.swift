import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import Glibc
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// What other users can do with a library.
@Suite("Other users of the same machine", .timeLimit(.hang))
struct OtherUserTests {
  private let fixture: StoreFixture
  private let a = ProductIdentifier("a")

  private static let secrets = [
    "lock", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "ledger.sqlite",
  ]

  init() throws {
    fixture = try StoreFixture()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: fixture.folder.path)
  }

  /// Creates a library with two versions of `a`, and one of another product's content.
  private func makeLibrary() async throws {
    let queue = try fixture.queue()
    for version in ["1.0", "1.1"] {
      try fixture.publish("a", version)
      if let update = try await queue.availableUpdates().first {
        _ = try await queue.deliver(update)
      } else {
        _ = try await queue.deliver(Payment(productIdentifier: a))
      }
    }
    try fixture.publish("b.audio", "3", of: "b")
    _ = try await queue.deliver(Payment(productIdentifier: "b"))
    try await queue.use(ContentVersion("1.0"), of: a)
    try await queue.setPin(true, on: a, version: ContentVersion("1.0"))
    queue.close()
  }

  private func modes() throws -> [String: Int] {
    var modes: [String: Int] = [:]
    for name in Self.secrets {
      let attributes = try FileManager.default.attributesOfItem(
        atPath: "\(fixture.libraryPath)/\(name)")
      modes[name] = (attributes[.posixPermissions] as? NSNumber)?.intValue
    }
    return modes
  }

  private static let secretModes = Dictionary(uniqueKeysWithValues: secrets.map { ($0, 0o600) })

  @Test("Only the owner can access journal, lock and grants")
  func modesOfNewFiles() async throws {
    try await makeLibrary()
    #expect(try modes() == Self.secretModes)
  }

  @Test("Opening an older library removes other users' access to its files")
  func modesOfOldFiles() async throws {
    try await makeLibrary()
    for name in Self.secrets {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o666], ofItemAtPath: "\(fixture.libraryPath)/\(name)")
    }
    try fixture.queue().close()
    #expect(try modes() == Self.secretModes)
  }

  @Test("A link in place of a private file is refused, and its target is not changed")
  func linkedFiles() throws {
    for name in ["lock", "journal.sqlite", "journal.sqlite-wal", "ledger.sqlite"] {
      try? FileManager.default.removeItem(atPath: fixture.libraryPath)
      try fixture.queue().close()
      let outside = fixture.folder.path("outside")
      try Data("123 (other)\n".utf8).write(to: URL(filePath: outside))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: outside)
      let place = "\(fixture.libraryPath)/\(name)"
      try? FileManager.default.removeItem(atPath: place)
      try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: outside)
      #expect(throws: ContentError.self, "\(name)") { try fixture.queue() }
      let attributes = try FileManager.default.attributesOfItem(atPath: outside)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o644, "\(name)")
      #expect(try String(contentsOfFile: outside, encoding: .utf8) == "123 (other)\n")
    }
  }

  @Test(
    "Another user can read installed contents, but not the accounts",
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func reading() async throws {
    try await makeLibrary()
    // Folders that are not versions, such as lost+found, are not listed.
    for name in ["lost+found", "a/old", "a/2.0", "a/3.0"] {
      try FileManager.default.createDirectory(
        atPath: "\(fixture.libraryPath)/products/\(name)", withIntermediateDirectories: true)
    }
    try Data("not a list".utf8).write(
      to: URL(filePath: "\(fixture.libraryPath)/products/a/3.0/ContentInfo.plist"))
    let owner = try fixture.reader()
    let entries = try owner.contents()
    #expect(entries.count == 3)
    let fixture = fixture
    #expect(try OtherUser.perform { try fixture.reader().contents() } == entries)
    let product = try await fixture.queue().products(["a"]).products
    let updates = try owner.updates(of: product)
    #expect(try OtherUser.perform { try fixture.reader().updates(of: product) } == updates)
    for read: @Sendable (LibraryReader) throws -> Void in [
      { _ = try $0.pins() }, { _ = try $0.transactions() }, { _ = try $0.finishedTransactions() },
      { _ = try $0.verify(entries[0].content) },
    ] {
      let error = #expect(throws: ContentError.self) {
        try OtherUser.perform { try read(fixture.reader()) }
      }
      #expect(error?.code == .notPermitted)
    }
  }

  @Test(
    "Folders that another user cannot read do not hide the other versions",
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func partlyReadable() async throws {
    try await makeLibrary()
    let readable = try fixture.reader().contents().filter { $0.content.version.rawValue == "1.0" }
    #expect(readable.count == 1)
    // As a process with the umask 077 creates them.
    for name in ["b.audio", "a/1.1"] {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o700], ofItemAtPath: "\(fixture.libraryPath)/products/\(name)")
    }
    let fixture = fixture
    #expect(try OtherUser.perform { try fixture.reader().contents() } == readable)
  }

  @Test(
    "A version leased by another user is not removed before the lease ends",
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func leasing() async throws {
    try await makeLibrary()
    let (fixture, a) = (fixture, a)
    let lease = try OtherUser.perform { try fixture.reader().lease(a) }
    #expect(lease.version.rawValue == "1.0")
    let queue = try fixture.queue()
    let error = #expect(throws: ContentError.self) {
      try queue.remove(a, version: ContentVersion("1.0"))
    }
    #expect(error?.code == .contentInUse)
    withExtendedLifetime(lease) {}
  }

  @Test("A version with another process's exclusive lock is in use, and calls do not wait", .slow)
  func lockedVersion() async throws {
    try await makeLibrary()
    let version = open("\(fixture.libraryPath)/products/a/1.0", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(version) }
    #expect(flock(version, LOCK_EX) == 0)
    let queue = try fixture.queue()
    for use: (PaymentQueue) throws -> Void in [
      { _ = try $0.lease(a) }, { _ = try $0.lease(a, version: ContentVersion("1.0")) },
      { try $0.remove(a, version: ContentVersion("1.0")) },
    ] {
      let error = #expect(throws: ContentError.self) { try use(queue) }
      #expect(error?.code == .contentInUse, "\(error.map { "\($0)" } ?? "")")
    }
    #expect(try await queue.collect().removed.map(\.version.rawValue) == ["1.1"])
  }
}
