import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

import HostedDatabase
@testable import HostedJournal

/// Repair of installed content, and the cost of updates.
@Suite("Repair and the cost of updates", .timeLimit(.hang))
struct RepairTests {
  private static func files(_ seed: UInt64 = 1) -> [String: [UInt8]] {
    var random = SplitMix(state: seed)
    var files: [String: [UInt8]] = ["Contents/film.bin": random.bytes(900_000)]
    for number in 0..<30 {
      files["Contents/page-\(number).txt"] = Array(
        String(repeating: "Page \(number). ", count: 500).utf8)
    }
    return files
  }

  private func install(_ fixture: StoreFixture) async throws -> InstalledContent {
    try fixture.publish("a", "1.0", files: Self.files())
    return try await fixture.install("a")
  }

  /// Changes one byte in the middle of an installed file, as a failing disk would.
  private func damage(_ path: String, _ fixture: StoreFixture) throws {
    let place = "\(fixture.libraryPath)/products/a/1.0/\(path)"
    #expect(chmod(place, 0o644) == 0)
    let file = try FileHandle(forUpdating: URL(filePath: place))
    let middle = try file.seekToEnd() / 2
    try file.seek(toOffset: middle)
    let byte = try #require(try file.read(upToCount: 1)?.first)
    try file.seek(toOffset: middle)
    try file.write(contentsOf: Data([byte ^ 1]))
    try file.close()
    #expect(chmod(place, 0o444) == 0)
  }

  @Test(arguments: ["Contents/film.bin", "Contents/page-7.txt"])
  func `a damaged file is repaired with one member, and the version stays installed`(path: String)
    async throws
  {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    try damage(path, fixture)
    #expect(try !fixture.reader().verify(content).isEmpty)
    let queue = try fixture.queue()
    let report = try await queue.repair(content)
    queue.close()
    #expect(report.damagedPaths == [path])
    #expect((1...(256 << 10)).contains(report.bytesFetched))
    try fixture.expectInstalled("a", "1.0", files: Self.files())
    #expect(try fixture.staged().isEmpty)
  }

  @Test func `an intact version is not changed`() async throws {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    let queue = try fixture.queue()
    let report = try await queue.repair(content)
    queue.close()
    #expect(report.damagedPaths.isEmpty && report.bytesFetched == 0)
  }

  @Test func `missing files are restored, unexpected ones removed, and existing ones not fetched`()
    async throws
  {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    let contents = "\(fixture.libraryPath)/products/a/1.0/Contents"
    try Data([1]).write(to: URL(filePath: "\(contents)/stranger"))
    let queue = try fixture.queue()
    #expect(try await queue.repair(content).bytesFetched == 0)
    try FileManager.default.removeItem(atPath: "\(contents)/page-3.txt")
    #expect(try await queue.repair(content).bytesFetched > 0)
    queue.close()
    try fixture.expectInstalled("a", "1.0", files: Self.files())
  }

  @Test func `a version whose folder was deleted is fetched and installed again`() async throws {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    let queue = try fixture.queue()
    try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/products/a/1.0")
    #expect(try await queue.repair(content).damagedPaths == [""])
    #expect(try await queue.repair(content).damagedPaths.isEmpty)
    queue.close()
    try fixture.expectInstalled("a", "1.0", files: Self.files())
  }

  @Test func `a version that the store no longer has cannot be repaired, and stays`() async throws {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    try damage("Contents/film.bin", fixture)
    try FileManager.default.removeItem(atPath: "\(fixture.storePath)/targets/a")
    let queue = try fixture.queue()
    await #expect(throws: ContentError.self) { try await queue.repair(content) }
    queue.close()
    #expect(try fixture.staged().isEmpty)
    #expect(try fixture.reader().contents().count == 1)
  }

  @Test func `an unreadable record of files is written again without fetching anything`()
    async throws
  {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    try loseRecord(fixture)
    #expect(throws: ContentError.self) { try fixture.reader().verify(content) }
    let queue = try fixture.queue()
    let report = try await queue.repair(content)
    #expect(report.damagedPaths == [""] && report.bytesFetched == 0)
    #expect(try fixture.reader().verify(content).isEmpty)
    #expect(try await queue.repair(content).damagedPaths.isEmpty)
    queue.close()
    try fixture.expectInstalled("a", "1.0", files: Self.files())
  }

  @Test func `an update of a version with an unreadable record fetches all files`() async throws {
    let fixture = try StoreFixture()
    _ = try await install(fixture)
    try loseRecord(fixture)
    try fixture.publish("a", "1.1", files: Self.files(2))
    let update = try await fixture.update()
    #expect(update.measuringError == nil)
    let queue = try fixture.queue()
    _ = try await queue.deliver(update)
    queue.close()
    try fixture.expectInstalled("a", "1.1", files: Self.files(2))
  }

  private func loseRecord(_ fixture: StoreFixture) throws {
    let journal = try SQLiteJournal(in: LibraryFolder(creating: fixture.libraryPath).root)
    try journal.write { try $0.execute("UPDATE content_files SET files = x'01ff'") }
  }

  @Test(.slow) func `an update that cannot be measured has an error, others do not`() async throws {
    let fixture = try StoreFixture()
    for name in ["a", "b"] { try fixture.publish(name, "1.0", files: Self.files()) }
    let queue = try fixture.queue()
    for name in ["a", "b"] {
      _ = try await queue.deliver(
        Payment(productIdentifier: try ProductIdentifier(validating: name)))
    }
    queue.close()
    for name in ["a", "b"] { try fixture.publish(name, "1.1", files: Self.files(2)) }
    let store = StoreReader(try StoreLocation(fixture.storePath))
    let products = try await store.products().products
    let index = try #require(products.first?.contents.first?.index.path)
    try FileManager.default.removeItem(atPath: "\(fixture.storePath)/\(index)")
    let updates = try fixture.reader().updates(of: products, from: store)
    #expect(updates.map(\.productIdentifier.rawValue) == ["a", "b"])
    #expect(updates.map(\.measuringError?.code) == [.storeMissing, nil])
    #expect(updates[0].bytesToMove == updates[0].bytesInFull)
    #expect(updates[1].bytesToMove < updates[1].bytesInFull)
  }

  @Test func `updates fetch the number of bytes that they announce`() async throws {
    let fixture = try StoreFixture()
    _ = try await install(fixture)
    var changed = Self.files()
    changed["Contents/page-5.txt"] = Array("Another page.".utf8)
    changed["Contents/film.bin"]?.insert(contentsOf: [1, 2, 3], at: 450_000)
    try fixture.publish("a", "1.1", files: changed)
    let store = StoreReader(try StoreLocation(fixture.storePath))
    let products = try await store.products().products
    let update = try #require(
      try fixture.reader().updates(of: products, from: store).first)
    #expect(update.bytesToMove < update.bytesInFull / 2)
    let queue = try fixture.queue()
    _ = try await queue.deliver(update)
    let fetched = queue.statistics.bytesFetched
    queue.close()
    let index = try #require(products.first?.contents.first?.index.length)
    #expect(fetched + index == update.bytesToMove)
    try fixture.expectInstalled("a", "1.1", files: changed)
  }
}
