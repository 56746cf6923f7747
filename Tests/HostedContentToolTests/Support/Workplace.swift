import ContentJournal
import ContentModel
import FileIO
import Foundation
import TestSupport
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

  /// Returns a tool in a folder with a store of version 1.0 of both chapters.
  static func withBook() throws -> Tool {
    let tool = try Tool()
    try tool.succeed("store", "init", "store")
    try tool.succeed(
      "store", "publish", "store", sample("chapter1-1.0.pkg"), sample("chapter2-1.0.pkg"))
    return tool
  }

  /// A product with two contents.
  static let course = "com.example.course"
  /// A product without content.
  static let club = "com.example.club"

  /// Returns a tool in a folder with a store of a chapter, a course and a club.
  static func withCourse() throws -> Tool {
    let tool = try Tool()
    try tool.succeed("store", "init", "store")
    try tool.succeed(
      "store", "publish", "store", sample("chapter1-1.0.pkg"), sample("course-1.0.pkg"),
      sample("course-audio-1.0.pkg"))
    try tool.succeed("store", "add", "store", club, "--title", "Club")
    return tool
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

  /// The transactions of `account` in the grants file at `path`, oldest first.
  func grants(_ path: String = "lib/grants.sqlite", account: String? = nil) throws -> [String] {
    let file = URL(filePath: folder.path(path))
    let parent = file.deletingLastPathComponent().path(percentEncoded: false)
    return try GrantsDatabase(
      file.lastPathComponent, in: FileSystem.real.directory(at: parent)
    ).grants(account: account).map(\.transactionIdentifier)
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
