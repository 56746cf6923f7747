import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// A lease while the leased version is repaired or installed again.
@Suite("Leases and repairs", .timeLimit(.hang))
struct LeaseTests {
  private let fixture: StoreFixture
  private let a = ProductIdentifier("a")
  private let version = ContentVersion("1.0")

  init() async throws {
    fixture = try StoreFixture(publishing: "a", "1.0")
    try await fixture.install(a)
  }

  private var path: String { "\(fixture.libraryPath)/products/a/1.0" }

  private func damage(_ file: String) throws {
    try FileManager.default.removeItem(atPath: "\(path)/\(file)")
    try Data("Damaged".utf8).write(to: URL(filePath: "\(path)/\(file)"))
  }

  private func expectInUse(_ queue: PaymentQueue) throws {
    let error = #expect(throws: ContentError.self) { try queue.remove(a, version: version) }
    #expect(error?.code == .contentInUse)
    #expect(try queue.collect(CollectionPolicy(maximumBytes: 0)).leased.count == 1)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A leased version is not removed after a repair, and its open folders stay readable")
  func repair() async throws {
    let queue = try fixture.queue()
    let content = try #require(try fixture.reader().contents().first?.content)
    do {
      let lease = try fixture.reader().lease(a)
      let folder = try FileSystem.real.directory(at: lease.url.path()).directory("Contents")
      for file in ["Contents/text.txt", "Contents/deep/er/data.bin"] {
        try damage(file)
        #expect(try await queue.repair(content).damagedPaths == [file])
      }
      let names = try folder.entries().map(\.name)
      #expect(Set(names) == ["text.txt", "same.txt", "deep"])
      let text = try folder.contents(of: "text.txt", limit: 100)
      #expect(text == StoreFixture.files("a", "1.0")["Contents/text.txt"])
      try expectInUse(queue)
    }
    try await queue.remove(a, version: version)
    #expect(try fixture.staged().isEmpty)
  }

  @Test func `a task can lease a version after the queue is closed`() async throws {
    let queue = try fixture.queue()
    queue.close()
    let lease = try await queue.lease(a)
    #expect(lease.version == version)
  }

  @Test("The error of a lease names the content, and the version if one was given")
  func unknown() throws {
    let reader = try fixture.reader()
    let b = ProductIdentifier("b")
    let any = #expect(throws: ContentError.self) { try reader.lease(b) }
    #expect(any?.message == "b is not installed")
    let one = #expect(throws: ContentError.self) { try reader.lease(a, version: "2.0") }
    #expect(one?.message == "a 2.0 is not installed")
  }

  @Test("No file of a version is missing at any step of its repair")
  func steps() async throws {
    let content = try #require(try fixture.reader().contents().first?.content)
    try damage("Contents/text.txt")
    try FileManager.default.removeItem(atPath: "\(path)/Contents/same.txt")
    try FileManager.default.createDirectory(
      atPath: "\(path)/Contents/same.txt/stray", withIntermediateDirectories: true)
    let path = path
    let queue = try fixture.queue {
      $0.fileSystem = FileSystem { _, _ in
        for file in ["ContentInfo.plist", "Contents/text.txt", "Contents/deep/er/data.bin"] {
          #expect(FileManager.default.fileExists(atPath: "\(path)/\(file)"), "\(file)")
        }
      }
    }
    #expect(try await queue.repair(content).damagedPaths.count == 3)
    queue.close()
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A lease on a folder that is not in the journal is valid after the version is installed")
  func unknownFolder() async throws {
    for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] {
      try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/\(name)")
    }
    try Data([1]).write(to: URL(filePath: "\(path)/Contents/stray"))
    let queue = try fixture.queue()
    let lease = try await queue.lease(a, version: version)
    _ = try await queue.deliver(Payment(productIdentifier: a))
    try expectInUse(queue)
    withExtendedLifetime(lease) {}
  }

  @Test("A file at the path of a version does not prevent its install")
  func fileInPlace() async throws {
    try FileManager.default.removeItem(atPath: path)
    try Data([1]).write(to: URL(filePath: path))
    try await fixture.install(a)
    try fixture.expectInstalled("a", "1.0")
  }
}
