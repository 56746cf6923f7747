import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Documentation/Deletes.md lists every call that removes a folder.
@Suite("The list of deletes")
struct DeletesTests {
  private struct Row {
    let place: String
    let tests: [String]
  }

  /// The list's items: each starts with a file in Sources and a function.
  private static func rows() throws -> [Row] {
    let page = try String(
      contentsOf: SourceTree.root.appending(path: "Documentation/Deletes.md"), encoding: .utf8)
    return page.components(separatedBy: "\n* `").dropFirst().map { item in
      let text = item.components(separatedBy: "\n\n")[0].replacing(/\n */, with: " ")
      let tests = text.matches(of: /“([^”]+)”/).map { String($0.output.1) }
      return Row(place: String(text.prefix { $0 != "`" }), tests: tests)
    }
  }

  /// Returns the relative paths and texts of the Swift files in a folder.
  private static func sources(_ folder: String) throws -> [(path: String, text: String)] {
    let start = SourceTree.root.appending(path: folder)
    return try FileManager.default.subpathsOfDirectory(atPath: start.path)
      .filter { $0.hasSuffix(".swift") }.sorted()
      .map { ($0, try String(contentsOf: start.appending(path: $0), encoding: .utf8)) }
  }

  /// The files that define the removal of folders and its system call.
  private static let definitions: Set<String> = [
    "System/FileIO/Directory.swift", "System/FileIO/SystemCalls.swift",
  ]

  /// The calls that remove a folder.
  private static let removals = [
    "removeTree(", "removeEmptyDirectory(", "removeItem(", "trashItem(", "nftw(", "fts_open(",
    "rmdir(", "unlinkat(",
  ]

  /// Returns the places of these calls in Sources, by file and function.
  private static func places() throws -> Set<String> {
    var places: Set<String> = []
    for (path, text) in try sources("Sources") {
      guard !definitions.contains(path), removals.contains(where: text.contains) else { continue }
      var function = ""
      for line in text.split(separator: "\n") {
        if let match = line.firstMatch(of: /func (\w+)| (init|deinit)\b/) {
          function = String(match.output.1 ?? match.output.2 ?? "")
        }
        let isComment = line.drop { $0 == " " }.hasPrefix("//")
        if !isComment, removals.contains(where: line.contains) {
          places.insert("\(path) \(function)")
        }
      }
    }
    return places
  }

  @Test("It has each call in Sources, and no other", .slow)
  func places() throws {
    let listed = try Self.rows().map(\.place)
    #expect(listed.count == Set(listed).count)
    #expect(Set(listed) == (try Self.places()))
    #expect(listed.count > 5)
  }

  @Test("Each row names tests that exist", .slow)
  func tests() throws {
    let tests = try Self.sources("Tests").map(\.text).joined()
    for row in try Self.rows() {
      #expect(!row.tests.isEmpty, "\(row.place)")
      for name in row.tests { #expect(tests.contains("\"\(name)\""), "\(row.place): \(name)") }
    }
  }
}
