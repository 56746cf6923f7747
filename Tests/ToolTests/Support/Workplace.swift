import HostedModel
import HostedFileIO
import Foundation
import HostedShop
import HostedFileServer
import HostedTestSupport
import Testing

extension Tool {
  /// The folder of sample packages.
  static let samples = SourceTree.path("SamplePackages")

  static func sample(_ name: String) -> String { "\(samples)/\(name)" }

  static let chapter1 = "com.example.book.chapter1"
  static let chapter2 = "com.example.book.chapter2"

  /// The names of the invalid samples.
  static let badSamples = [
    "absolute-path", "bad-plist", "bad-version", "damaged", "escaping-link", "escaping-path",
    "executable-inside", "link-chain", "missing-plist", "not-an-archive", "truncated",
  ].map { sample("bad/\($0).pkg") }

  /// A product with two contents.
  static let course = "com.example.course"
  /// A product without content.
  static let club = "com.example.club"

  /// Returns a tool in a folder with an empty store.
  static func withStore() throws -> Tool { try StoreTemplate.empty.copy() }

  /// Returns a tool in a folder with a store of version 1.0 of both chapters.
  static func withBook() throws -> Tool { try StoreTemplate.book.copy() }

  /// Returns a tool like `withBook`, with a key for `store-server` whose token is in `token`.
  static func withShop() throws -> Tool { try StoreTemplate.shop.copy() }

  /// Returns a tool in a folder with a store of a chapter, a course and a club.
  static func withCourse() throws -> Tool { try StoreTemplate.course.copy() }

  /// Starts a server of this process for the store, with a fault script.
  func serveStore(_ faults: String = "") throws -> FileServer {
    let server = try FileServer(folder: folder.path("store"), faults: FaultScript(faults))
    try server.start()
    return server
  }

  /// Runs the tool, which must succeed.
  @discardableResult
  func succeed(_ words: String..., location: SourceLocation = #_sourceLocation) throws -> Result {
    try end(words, status: 0, location)
  }

  /// Runs the tool, which must exit with `status` and print each of `texts` to standard error.
  @discardableResult
  func fail(
    _ words: String..., status: Int32 = 1, saying texts: [String] = [],
    location: SourceLocation = #_sourceLocation
  ) throws -> Result {
    try fail(words, status: status, saying: texts, location: location)
  }

  @discardableResult
  func succeed(_ words: [String], location: SourceLocation = #_sourceLocation) throws -> Result {
    try end(words, status: 0, location)
  }

  @discardableResult
  func fail(
    _ words: [String], status: Int32 = 1, saying texts: [String] = [],
    location: SourceLocation = #_sourceLocation
  ) throws -> Result {
    let result = try end(words, status: status, location)
    #expect(result.errors.hasPrefix("hostedcontent: "), sourceLocation: location)
    for text in texts {
      #expect(result.errors.contains(text), "\(result.errors)", sourceLocation: location)
    }
    return result
  }

  private func end(_ words: [String], status: Int32, _ location: SourceLocation) throws -> Result {
    let result = try run(words)
    #expect(
      result.status == status, "\(words.joined(separator: " ")): \(result.output)\(result.errors)",
      sourceLocation: location)
    return result
  }

  /// Runs a shell script of a page, in which `hostedcontent` is the tool.
  func follow(_ script: String, environment: [String: String] = [:]) throws -> Result {
    let programs = URL(filePath: Self.path).deletingLastPathComponent()
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let variables = ["PATH": "\(programs.path(percentEncoded: false)):\(path)"]
    return try run(
      ["-euc", script], program: "/bin/sh", environment: variables.merging(environment) { $1 })
  }

  /// Creates a store with com.example.book, and a copy of its root as in the pages.
  func offerBook() throws {
    try succeed("store", "init", "store")
    var random = SplitMix(state: 1)
    let pages = Data(random.bytes(300_000))
    let package = try makePackage("com.example.book", "1.0", ["pages": pages])
    try succeed("store", "publish", "store", package)
    try FileManager.default.copyItem(
      atPath: folder.path("store/metadata/1.root.json"), toPath: folder.path("root.json"))
  }

  /// The transactions of `account` in the ledger at `path`, oldest first.
  func grants(_ path: String = "lib/ledger.sqlite", account: AccountID? = nil) throws -> [String] {
    let file = URL(filePath: folder.path(path))
    let parent = file.deletingLastPathComponent().path(percentEncoded: false)
    let database = try SQLiteLedger(
      file.lastPathComponent, in: FileSystem.real.directory(at: parent))
    return try Ledger(database).owned(account: account).map(\.transaction)
  }

  /// The products and versions that `list` reports as current.
  func current(_ library: String = "lib") throws -> [String: String] {
    let contents = try #require(
      try succeed("list", "--library", library, "--json").json()["contents"] as? [[String: Any]])
    let current = contents.filter { $0["current"] as? Bool == true }.map {
      ($0["contentIdentifier"] as? String ?? "", $0["version"] as? String ?? "")
    }
    return Dictionary(current) { first, _ in first }
  }

  /// The unfinished transactions from `queue`.
  func unfinished(_ library: String = "lib") throws -> [[String: Any]] {
    try #require(
      try succeed("queue", "--library", library, "--json").json()["transactions"]
        as? [[String: Any]])
  }

  /// Every path in the folder with its bytes.
  ///
  /// Folders and links have their kind.
  func tree(_ name: String = "") throws -> [String: Data] {
    let root = folder.path(name)
    var found: [String: Data] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
      found[path] = FileManager.default.contents(atPath: "\(root)/\(path)") ?? Data()
    }
    return found
  }

  func exists(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: folder.path(name))) != nil
  }

  func text(_ name: String) throws -> String {
    try String(contentsOfFile: folder.path(name), encoding: .utf8)
  }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: folder.path(name)))
  }

  /// Adds write permission to an installed file or folder, as its owner.
  func makeWritable(_ name: String) throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: folder.path(name))
  }
}
