import HostedModel
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Packages from other tools: fetched by blocks and read with libarchive.
@Suite("Packages from other tools", .timeLimit(.hang))
struct ForeignPackageTests {
  private let fixture: StoreFixture
  private let server: FileServer

  init() throws {
    fixture = try StoreFixture()
    server = try fixture.server()
  }

  private static func files(_ megabytes: Int) -> [String: [UInt8]] {
    var random = SplitMix(state: 11)
    let film = random.bytes(megabytes << 19)
    return [
      "Contents/film.bin": film + film.reversed(),
      "Contents/deep/er/page.txt": Array(String(repeating: "A page. ", count: 2000).utf8),
      "Contents/small.bin": random.bytes(3000),
    ]
  }

  /// Publishes `files` in a package built with bsdtar.
  private func publish(
    _ version: String, _ files: [String: [UInt8]], _ options: [String] = ["-z"]
  ) throws {
    let source = fixture.folder.path("foreign-\(version)")
    var files = files
    files["ContentInfo.plist"] = Array(
      """
      <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
      <key>ContentVersion</key><string>\(version)</string>
      <key>IAPProductIdentifier</key><string>a</string></dict></plist>
      """.utf8)
    for (path, bytes) in files {
      let url = URL(filePath: "\(source)/\(path)")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: url)
    }
    let package = fixture.folder.path("a-\(version).pkg")
    let words = options + ["-cf", package, "-C", source, "Contents", "ContentInfo.plist"]
    let end = try Program.run("/usr/bin/bsdtar", words)
    try #require(end.status == 0, "\(end.output)")
    try fixture.store.publish([package])
  }

  private func queue(_ fileSystem: FileSystem = .real) throws -> PaymentQueue {
    try fixture.queue(at: server.url) { $0.fileSystem = fileSystem }
  }

  private func deliver(_ queue: PaymentQueue) async throws {
    _ = try await queue.deliver(Payment(productIdentifier: "a"))
  }

  /// Returns the body bytes of the package that the server has sent.
  private var sentBytes: Int64 {
    server.requests.filter { $0.path.hasSuffix(".pkg") }.reduce(0) { $0 + $1.bytesSent }
  }

  private var packageLength: Int64 {
    get throws {
      let path = fixture.folder.path("a-1.0.pkg")
      return Int64(try Data(contentsOf: URL(filePath: path), options: .alwaysMapped).count)
    }
  }

  @Test("Statistics and diagnostics have the reason for fetching a whole package")
  func reason() async throws {
    try publish("1.0", ["Contents/a": [1, 2, 3]])
    let queue = try queue()
    let events = queue.diagnosticEvents()
    try await deliver(queue)
    #expect(
      queue.statistics.transfers.wholePackages == ["The package is not a flat product archive": 1])
    queue.close()
    var told: [String] = []
    for await event in events where event.name == "whole package fetched" {
      told += [event.details["reason"] ?? ""]
    }
    #expect(told == ["The package is not a flat product archive"])
  }

  /// The spool of the one download.
  private var spool: URL {
    get throws {
      let staging = URL(filePath: fixture.libraryPath).appending(path: "staging")
      let name = try FileManager.default.contentsOfDirectory(atPath: staging.path)
        .first { FileManager.default.fileExists(atPath: "\(staging.path)/\($0)/package") }
      return staging.appending(path: try #require(name)).appending(path: "package")
    }
  }

  /// Downloads the package until the last file of the archive cannot be created.
  private func failAtLastFile() async throws {
    let full = FileSystem.failing(.create, at: "/content/ContentInfo.plist")
    try await run(queue(full)) { $0.downloads.values.contains { $0.state == .failed } }
  }

  @Test(
    "After a failed unpacking, nothing is fetched again, and the files are complete", .slow,
    arguments: [["-z"], ["--format", "zip"], ["--format", "xar"]])
  func resumed(options: [String]) async throws {
    let files = Self.files(5)
    try publish("1.0", files, options)
    try await failAtLastFile()
    let content = try spool.deletingLastPathComponent().appending(path: "content")
    try Data([1]).write(to: content.appending(path: "stranger"))
    try await run(queue(), isNew: false) { $0.removed.count == 1 }
    try fixture.expectInstalled("a", "1.0", files: files)
    #expect(try sentBytes == packageLength)
    #expect(try fixture.staged().isEmpty)
  }

  /// Returns the bytes of the film in staging.
  private var writtenBytes: Int {
    let staging = "\(fixture.libraryPath)/staging"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      let film = "\(staging)/\(name)/content/Contents/film.bin"
      return sum + (lstat(film, &status) == 0 ? Int(status.st_size) : 0)
    }
  }

  @Test("Files are written before later blocks arrive", .slow)
  func overlap() async throws {
    try publish("1.0", Self.files(30), [])
    // Responses are incomplete, so most of the package does not arrive.
    try server.setFaults(FaultScript("*.pkg stall 2000000"))
    let queue = try queue()
    let observer = RecordingObserver.delivering()
    queue.add(observer)
    queue.add(Payment(productIdentifier: "a"))
    await waitUntil { writtenBytes > 0 }
    #expect(try sentBytes < packageLength / 2)
    queue.close()
  }

  @Test("Only blocks that were damaged on disk are fetched again", .slow)
  func damagedBlock() async throws {
    let files = Self.files(5)
    try publish("1.0", files)
    try await failAtLastFile()
    let file = try FileHandle(forUpdating: spool)
    try file.seek(toOffset: (2 << 20) + 100)
    try file.write(contentsOf: Data("damage".utf8))
    try file.close()
    try await run(queue(), isNew: false) { $0.removed.count == 1 }
    try fixture.expectInstalled("a", "1.0", files: files)
    #expect(try sentBytes == packageLength + (1 << 20))
  }

  @Test(
    "Whatever step fails, the next start fetches nothing twice", .slow,
    arguments: [["-z"], ["--format", "zip"]])
  func interrupted(options: [String]) async throws {
    let files = Self.files(16)
    try publish("1.0", files, options)
    let steps = Self.fault(at: 0)
    try await run(queue(steps.fileSystem)) { $0.removed.count == 1 }
    for part in 1...9 {
      try FileManager.default.removeItem(atPath: fixture.libraryPath)
      let before = sentBytes
      let fault = Self.fault(at: steps.count * part / 10)
      try await run(queue(fault.fileSystem)) {
        $0.downloads.values.contains { $0.state == .failed }
      }
      try await run(queue(), isNew: false) { $0.removed.count == 1 }
      try fixture.expectInstalled("a", "1.0", files: files)
      // The package, and what its connections had received when the step failed.
      let again = try sentBytes - before - packageLength
      #expect(again <= 6 << 20, "\(again) bytes again after a fault at \(part) tenths")
    }
  }

  /// Makes the step in staging with this number fail, from 1; 0 for none.
  private static func fault(at number: Int) -> FaultPlan {
    FaultPlan(failing: number) { operation, path in
      [.write, .sync, .create, .rename].contains(operation) && path.contains("/staging/")
    }
  }

  /// Runs `queue` until an observer sees the expected report.
  private func run(
    _ queue: PaymentQueue, isNew: Bool = true,
    until: @escaping @Sendable (RecordingObserver.Log) -> Bool
  ) async throws {
    let observer = RecordingObserver.delivering(of: queue)
    if isNew { queue.add(Payment(productIdentifier: "a")) }
    await observer.wait(until)
    queue.close()
  }

  @Test("An update fetches the whole package, and says so before, with the reason")
  func updateCost() async throws {
    try publish("1.0", ["Contents/a": [1, 2, 3]])
    let queue = try queue()
    try await deliver(queue)
    try publish("1.1", ["Contents/a": [1, 2, 3], "Contents/b": [4]])
    let update = try await fixture.update(at: server.url)
    #expect(update.wholePackageReason == "The package is not a flat product archive")
    server.clearRequests()
    _ = try await queue.deliver(update)
    queue.close()
    let sent = server.requests
      .filter { $0.path.hasSuffix(".pkg") || $0.path.hasSuffix(".index") }
      .reduce(0) { $0 + $1.bytesSent }
    #expect(sent == update.bytesToMove && sent == update.bytesInFull)
  }

  // MARK: Repair

  private func installedTree() async throws -> (InstalledContent, [String: [UInt8]]) {
    let files = [
      "Contents/a.txt": Array("alpha".utf8), "Contents/d/b.txt": Array("beta".utf8),
      "Contents/c.bin": [UInt8](repeating: 7, count: 40_000),
    ]
    try publish("1.0", files)
    let queue = try queue()
    try await deliver(queue)
    queue.close()
    return (try #require(try fixture.reader().contents().first?.content), files)
  }

  @Test(
    "Each kind of damage is found and repaired", .slow,
    arguments: ["changed", "missing", "folder", "stranger", "mode", "link", "file for a folder"])
  func damage(kind: String) async throws {
    let (content, files) = try await installedTree()
    let root = "\(fixture.libraryPath)/products/a/1.0/Contents"
    let manager = FileManager.default
    let path = "\(root)/d/b.txt"
    switch kind {
    case "changed":
      try manager.removeItem(atPath: path)
      try Data("BETA".utf8).write(to: URL(filePath: path))
    case "missing": try manager.removeItem(atPath: path)
    case "folder": try manager.removeItem(atPath: "\(root)/d")
    case "stranger": try Data([1]).write(to: URL(filePath: "\(root)/stranger"))
    case "mode": #expect(chmod(path, 0o755) == 0)
    case "link":
      try manager.removeItem(atPath: path)
      try manager.createSymbolicLink(atPath: path, withDestinationPath: "../a.txt")
    default:
      try manager.removeItem(atPath: "\(root)/d")
      try Data([1]).write(to: URL(filePath: "\(root)/d"))
    }
    #expect(try !fixture.reader().verify(content).isEmpty)
    let queue = try queue()
    let report = try await queue.repair(content)
    queue.close()
    #expect(!report.damagedPaths.isEmpty)
    try fixture.expectInstalled("a", "1.0", files: files)
    #expect(try fixture.reader().verify(content).isEmpty)
    #expect(try fixture.staged().isEmpty)
    var status = stat()
    #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o444)
  }
}
