import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Which folders can become a library, and what recovery removes.
@Suite("Files that do not belong to the library", .timeLimit(.hang))
struct LibraryOwnershipTests {
  private let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  private func write(_ text: String, to path: String) throws {
    let url = URL(filePath: "\(fixture.libraryPath)/\(path)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(fixture.libraryPath)/\(path)", encoding: .utf8)
  }

  /// Returns the regular files in the library's folder, with their contents.
  private func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: fixture.libraryPath) {
      files[path] = FileManager.default.contents(atPath: "\(fixture.libraryPath)/\(path)")
    }
    return files
  }

  @Test(
    "A folder with a user's files in place of a library's is refused, and every file stays",
    arguments: [
      "staging/mydata/thesis.txt", "staging/thesis.txt", "products/shoes/list.txt",
      "products/CACHEDIR.TAG", "trust/deed.txt", "lock",
    ])
  func taken(path: String) throws {
    // Another program's tag, and a text that an engine did not write.
    try write("Signature: 8a477f597d28d172789f06886806bc55\n# made by a compiler\n", to: path)
    let before = try files()
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .libraryFolderTaken, "\(error.map { "\($0)" } ?? "")")
    #expect(error?.message.contains(path.split(separator: "/").first ?? "") == true)
    #expect(try files() == before)
  }

  @Test("A lock file mixed with an earlier one or zeros by a power failure is recognized", .slow)
  func tornLock() throws {
    let old = "         7 (reader)\n"
    let new = "   1234567 (hostedcontent)\n"
    let zeros = String(repeating: "\0", count: 30)
    for cut in 0...old.count {
      let parts = [new.prefix(cut) + old.dropFirst(cut), zeros.prefix(cut) + new.dropFirst(cut)]
      for text in parts + [new.prefix(cut), new.prefix(cut) + zeros.dropFirst(cut)] {
        try write(String(text), to: "lock")
        try fixture.queue().close()
        try FileManager.default.removeItem(atPath: fixture.libraryPath)
      }
    }
  }

  @Test(
    "Another program's lock file is refused", arguments: ["12345\n", "        12 host\n"])
  func otherLock(text: String) throws {
    try write(text, to: "lock")
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .libraryFolderTaken)
    #expect(try self.text("lock") == text)
  }

  @Test(
    "A link or a file in place of a library's folder is refused, and its target does not change",
    arguments: ["staging", "products"], [true, false])
  func linked(name: String, isLink: Bool) throws {
    try fixture.queue().close()
    let place = "\(fixture.libraryPath)/\(name)"
    try FileManager.default.removeItem(atPath: place)
    let outside = fixture.folder.path("outside")
    let left = "\(outside)/5d1a1a9c-6c5f-4d4b-9a51-3d5d1cb1d7a8-1"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: outside)
    } else {
      try write("a list of products", to: name)
    }
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .libraryFolderTaken, "\(error.map { "\($0)" } ?? "")")
    #expect(FileManager.default.fileExists(atPath: left))
  }

  @Test("Recovery removes only names of downloads and removals from staging")
  func stagingNames() throws {
    try fixture.queue().close()
    let id = "5d1a1a9c-6c5f-4d4b-9a51-3d5d1cb1d7a8"
    let digest = String(repeating: "0a", count: 32)
    let own = [id, "\(id)-1", "\(id)-12", "removed-\(digest)-4711"]
    let others = [
      "mydata", "mydata-1", id.uppercased(), "\(id)-", "\(id)-0", "\(id)-01", "\(id)-1x",
      "\(id) 1", "removed-", "removed-4711", "removed-\(digest)", "removed-\(digest)-1 (copy)",
      "removed-\(digest)-007", "removed-\(digest.uppercased())-1", "lost+found",
    ]
    for name in own + others { try write("a file", to: "staging/\(name)/file") }
    let queue = try fixture.queue()
    queue.close()
    #expect(try fixture.staged().sorted() == others.sorted())
    for name in others { #expect(try text("staging/\(name)/file") == "a file") }
  }

  @Test("A first start that fails at any step can be repeated", .slow)
  func interruptedCreation() throws {
    for n in 1... {
      try? FileManager.default.removeItem(atPath: fixture.libraryPath)
      let plan = FaultPlan(failing: n)
      let queue = try? fixture.queue { $0.fileSystem = plan.fileSystem }
      queue?.close()
      // The next start completes the work.
      try fixture.queue().close()
      if !plan.hasFired { break }
    }
  }

  @Test("A library is recognized without its journal, and without its folders")
  func recognized() async throws {
    try fixture.publish("a", "1.0")
    let product = ProductIdentifier("a")
    try await fixture.install(product)
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/journal.sqlite\(suffix)")
    }
    try write("a file", to: "staging/mydata/thesis.txt")
    try await fixture.install(product)
    try fixture.expectInstalled("a", "1.0")
    #expect(try text("staging/mydata/thesis.txt") == "a file")
    // As restored from a backup without caches.
    for name in ["products", "staging", "lock"] {
      try FileManager.default.removeItem(atPath: "\(fixture.libraryPath)/\(name)")
    }
    try await fixture.install(product)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test(
    "A database of another program with the journal's name is refused and not changed", .slow,
    arguments: [0, 2])
  func otherDatabase(version: Int) throws {
    try FileManager.default.createDirectory(
      atPath: fixture.libraryPath, withIntermediateDirectories: true)
    let path = "\(fixture.libraryPath)/journal.sqlite"
    let sql = "CREATE TABLE diary (day TEXT); PRAGMA user_version = \(version)"
    try execute(sql, path)
    let before = try Data(contentsOf: URL(filePath: path))
    let error = #expect(throws: ContentError.self) { try fixture.queue() }
    #expect(error?.code == .libraryFolderTaken, "\(error.map { "\($0)" } ?? "")")
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  private func execute(_ sql: String, _ path: String) throws {
    let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
    let end = try Program.run("/usr/bin/env", ["python3", "-c", script, path, sql])
    #expect(end.status == 0, "\(end.output)")
  }
}
