import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Documentation/Locks.md lists every file that has a lock.
@Suite("The lists of locks")
struct LockTests {
  @Test("They have exactly the files with a lock", .slow)
  func complete() throws {
    let page = try String(
      contentsOf: SourceTree.root.appending(path: "Documentation/Locks.md"), encoding: .utf8)
    let section = try #require(page.components(separatedBy: "\n## Locks\n").dropFirst().first)
    let listed = section.matches(of: /(?m)^(?:\| `)?([A-Z][\w\/+]+\.swift)\b/)
      .map { String($0.output.1) }
    let sources = SourceTree.root.appending(path: "Sources")
    let locked = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
      .filter { $0.hasSuffix(".swift") && $0 != "System/Concurrency/Mutex.swift" }
      .filter { path in
        try String(contentsOf: sources.appending(path: path), encoding: .utf8)
          .contains(/\bMutex[(<]/)
      }
    #expect(Set(listed).count == listed.count)
    #expect(Set(locked).subtracting(listed).sorted() == [])
    #expect(Set(listed).subtracting(locked).sorted() == [])
  }
}
