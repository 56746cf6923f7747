import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The scripts that pages name, with their options and words.
///
/// Tests cannot run most of them: they build, or take minutes.
@Suite("Scripts in the documentation")
struct ScriptMentionTests {
  /// Returns the code of a page that may call scripts: in its sentences, and its commands.
  private static func code(_ page: DocumentPage) -> [String] {
    let commands = page.blocks(in: "sh").flatMap { $0.text.split(separator: "\n") }
    return page.codeSpans + commands.map { line in String(line.prefix { $0 != "#" }) }
  }

  private static func exists(_ path: String) -> Bool {
    let url = SourceTree.root.appending(path: path)
    return FileManager.default.fileExists(atPath: url.path(percentEncoded: false))
  }

  @Test(
    "Every script is executable, and has the options and words with which a page calls it", .slow)
  func calls() throws {
    let tests = try FileManager.default.subpathsOfDirectory(
      atPath: SourceTree.root.appending(path: "Tests").path(percentEncoded: false))
    var count = 0
    for page in try DocumentPage.all {
      for code in Self.code(page) {
        guard let call = code.wholeMatch(of: /((?:Scripts|Benchmarks)\/[a-z-]+)(\s[^`]*)?/)
        else { continue }
        let words = (call.output.2 ?? "").split(whereSeparator: \.isWhitespace)
        let place: Comment = "\(page.path): \(code)"
        let script = SourceTree.root.appending(path: String(call.output.1))
        let path = script.path(percentEncoded: false)
        #expect(FileManager.default.isExecutableFile(atPath: path), place)
        let text = try String(contentsOf: script, encoding: .utf8)
        let options = Set(text.matches(of: /--[a-z-]+/).map { $0.output })
        for word in words where word.hasPrefix("--") { #expect(options.contains(word), place) }
        if let option = words.firstIndex(of: "--filter") {
          let suite = try #require(words[(option + 1)...].first, place)
          #expect(tests.contains { $0.hasSuffix("/\(suite).swift") }, place)
        }
        // Words in capitals are placeholders.
        for word in words.prefix(1) where word.first?.isLowercase == true {
          switch call.output.1 {
          case "Benchmarks/run", "Scripts/campaign": #expect(text.contains(word), place)
          case "Scripts/fuzz": #expect(Self.exists("Fuzz/corpus/\(word)"), place)
          default: break
          }
        }
        count += 1
      }
    }
    #expect(count > 40, "the scripts were not found")
  }
}
