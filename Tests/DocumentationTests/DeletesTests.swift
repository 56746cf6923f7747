import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Documentation/Deletes.md lists every function that removes a folder.
@Suite("The list of deletes")
struct DeletesTests {
  private struct Row {
    let function: String
    let tests: [String]
  }

  /// The list's items: each starts with the name of a function in Sources.
  private static func rows() throws -> [Row] {
    let page = try String(
      contentsOf: SourceTree.root.appending(path: "Documentation/Deletes.md"), encoding: .utf8)
    return page.components(separatedBy: "\n* `").dropFirst().map { item in
      let text = item.components(separatedBy: "\n\n")[0].replacing(/\n */, with: " ")
      let tests = text.matches(of: /“([^”]+)”/).map { String($0.output.1) }
      return Row(function: String(text.prefix { $0 != "`" }), tests: tests)
    }
  }

  /// Returns the relative paths and texts of the Swift files in a folder.
  private static func sources(_ folder: String) throws -> [(path: String, text: String)] {
    let start = SourceTree.root.appending(path: folder)
    return try FileManager.default.subpathsOfDirectory(atPath: start.path)
      .filter { $0.hasSuffix(".swift") }.sorted()
      .map { ($0, try String(contentsOf: start.appending(path: $0), encoding: .utf8)) }
  }

  /// The functions of FileIO that define the removal of folders and its system call.
  private static let definitions: Set<String> = [
    "removeTree", "removeEmptyDirectory", "remove", "unlinkat",
  ]

  /// The calls that remove a folder.
  private static let removals = [
    "removeTree(", "removeEmptyDirectory(", "removeItem(", "trashItem(", "nftw(", "fts_open(",
    "rmdir(", "unlinkat(",
  ]

  /// Returns the functions of Sources with these calls, once for each file.
  private static func functions() throws -> [String] {
    var functions: [String] = []
    for (path, text) in try sources("Sources") where removals.contains(where: text.contains) {
      var function = ""
      var found: Set<String> = []
      for line in text.split(separator: "\n") {
        if let match = line.firstMatch(of: /func (\w+)| (init|deinit)\b/) {
          function = String(match.output.1 ?? match.output.2 ?? "")
        }
        let isComment = line.drop { $0 == " " }.hasPrefix("//")
        if !isComment, removals.contains(where: line.contains) { found.insert(function) }
      }
      functions += path.hasPrefix("System/FileIO/") ? found.subtracting(definitions) : found
    }
    return functions.sorted()
  }

  @Test("It has each function of Sources that removes a folder, and no other", .slow)
  func complete() throws {
    let listed = try Self.rows().map(\.function).sorted()
    #expect(listed == (try Self.functions()))
    #expect(listed.count > 5)
  }

  @Test("Each row names tests that exist", .slow)
  func tests() throws {
    let tests = try Self.sources("Tests").map(\.text).joined()
    for row in try Self.rows() {
      #expect(!row.tests.isEmpty, "\(row.function)")
      for name in row.tests { #expect(tests.contains("\"\(name)\""), "\(row.function): \(name)") }
    }
  }
}
