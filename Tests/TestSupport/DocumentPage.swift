package import Foundation

/// A page of the documentation.
package struct DocumentPage: Sendable {
  /// A fenced block of a page.
  package struct Block: Sendable {
    /// The words after the opening fence, such as `sh`.
    package let language: String
    /// The lines between the fences, each with its newline.
    package let text: String
    /// The number of the opening fence's line, from 1.
    package let line: Int
  }

  /// The path below the repository's folder, such as `Documentation/Keys.md`.
  package let path: String
  package let text: String
  /// The text without its blocks.
  package let prose: String
  package let blocks: [Block]

  package var url: URL { SourceTree.root.appending(path: path) }

  /// Reads the page at `path` below the repository's folder.
  package init(_ path: String) throws {
    self.path = path
    text = try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8)
    var prose: [Substring] = []
    var blocks: [Block] = []
    var open: (language: String, line: Int, lines: [Substring])?
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let start = line.drop { $0 == " " }
      if let block = open {
        if start.hasPrefix("```") {
          let text = block.lines.map { "\($0)\n" }.joined()
          blocks.append(Block(language: block.language, text: text, line: block.line))
          open = nil
        } else {
          open?.lines.append(line)
        }
      } else if start.hasPrefix("```") {
        open = (language: String(start.dropFirst(3)), line: index + 1, lines: [])
      } else {
        prose.append(line)
      }
    }
    self.prose = prose.joined(separator: "\n")
    self.blocks = blocks
  }

  /// Every page outside build folders, read once per process.
  package static var all: [DocumentPage] { get throws { try pages.get() } }

  private static let pages: Result<[DocumentPage], any Error> = Result {
    let manager = FileManager.default
    var paths = try manager.contentsOfDirectory(
      atPath: SourceTree.root.path(percentEncoded: false))
    for folder in ["Benchmarks", "Documentation", "SamplePackages", "Sources"] {
      let start = SourceTree.root.appending(path: folder).path(percentEncoded: false)
      paths += try manager.subpathsOfDirectory(atPath: start).map { "\(folder)/\($0)" }
    }
    return try paths.filter { $0.hasSuffix(".md") }.sorted().map { try DocumentPage($0) }
  }

  /// The code within its sentences and tables.
  package var codeSpans: [String] {
    // Links to symbols have two backticks.
    prose.replacing("``", with: "`").matches(of: /`([^`]+)`/).map { String($0.output.1) }
  }

  /// Returns the blocks of a language.
  package func blocks(in language: String) -> [Block] {
    blocks.filter { $0.language == language }
  }
}
