import HostedLibrary
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Verification: its findings and its rate.
@Suite("Verifying installed content", .timeLimit(.hang))
struct VerifyTests {
  /// A clock that a test and sleeping advance.
  private final class Clock {
    var now = 100.0
    var slept = 0.0
    /// The seconds between two calls, as reading takes them.
    var step = 0.0

    func pace(_ bytesPerSecond: Int64) -> ReadThrottle {
      ReadThrottle(
        bytesPerSecond: bytesPerSecond,
        now: {
          self.now += self.step
          return self.now
        },
        sleep: {
          self.slept += $0
          self.now += $0
        })
    }
  }

  private func install(
    _ fixture: StoreFixture, files: [String: [UInt8]]? = nil
  ) async throws -> InstalledContent {
    try fixture.publish("a", "1.0", files: files)
    return try await fixture.install("a")
  }

  @Test("A limited rate is kept exactly over all bytes")
  func limited() async throws {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    let clock = Clock()
    #expect(try fixture.reader().verify(content, pace: clock.pace(10_000)).isEmpty)
    #expect(abs(clock.slept - Double(content.size) / 10_000) < 0.001)
    #expect(content.size > 60_000)
  }

  @Test("A disk that is slower than the limit is not delayed")
  func slowDisk() async throws {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    let clock = Clock()
    clock.step = 60
    #expect(try fixture.reader().verify(content, pace: clock.pace(10_000)).isEmpty)
    #expect(clock.slept == 0)
  }

  @Test("Time saved in a slow phase may be used at once, but not more")
  func catchingUp() {
    let clock = Clock()
    let pace = clock.pace(1000)
    pace.pass(500)
    #expect(clock.slept == 0.5)
    clock.now += 2
    pace.pass(2000)
    #expect(clock.slept == 0.5)
    pace.pass(1000)
    #expect(clock.slept == 1.5)
  }

  @Test("An unexpected entry with an invalid or equivalent Unicode name is found and removed")
  func oddNames() async throws {
    let fixture = try StoreFixture()
    let files = ["Contents/\(OddName.composed)": Array("text".utf8)]
    let content = try await install(fixture, files: files)
    let contents = try FileSystem.real.directory(
      at: "\(fixture.libraryPath)/products/a/1.0/Contents")
    try #require(contents.make(OddName.noText, isFolder: true))
    try #require(contents.make(OddName.decomposed))
    let found = try fixture.reader().verify(content)
    #expect(found.map(\.path) == ["Contents/e\u{301}.txt", "Contents/\u{fffd}.txt"])
    #expect(found.allSatisfy { $0.rule == "unexpected" })
    let queue = try fixture.queue()
    #expect(try await queue.repair(content).damagedPaths.count == 2)
    #expect(try fixture.staged().isEmpty)
    try #require(
      FileSystem.real.directory(at: "\(fixture.libraryPath)/products/a/1.0/Contents")
        .make(OddName.noText))
    try await queue.remove(content.contentIdentifier, version: content.version)
    queue.close()
    #expect(try fixture.staged().isEmpty)
  }

  @Test("A link whose target differs only in its Unicode form is changed")
  func linkTarget() async throws {
    let fixture = try StoreFixture()
    let source = fixture.folder.path("sources/a-1.0/Contents")
    try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
    #expect(symlink("\u{e9}.txt", "\(source)/link") == 0)
    let content = try await install(fixture)
    #expect(try fixture.reader().verify(content) == [])
    let place = "\(fixture.libraryPath)/products/a/1.0/Contents/link"
    #expect(unlink(place) == 0 && symlink("e\u{301}.txt", place) == 0)
    let found = try fixture.reader().verify(content)
    #expect(found.map(\.path) == ["Contents/link"])
    #expect(found.map(\.rule) == ["changed"])
  }

  @Test(
    "Every kind of damage is found, at its place", .slow,
    arguments: [
      ("changed", "Contents/same.txt", "changed"),
      ("longer", "Contents/same.txt", "changed"), ("missing", "Contents/same.txt", "missing"),
      ("writable", "Contents/same.txt", "changed"), ("executable", "Contents/same.txt", "changed"),
      ("setuid", "Contents/same.txt", "changed"), ("link", "Contents/same.txt", "changed"),
      ("pipe", "Contents/same.txt", "changed"), ("folder", "Contents/same.txt", "changed"),
      ("open folder", "Contents/deep", "changed"), ("stranger", "Contents/stranger", "unexpected"),
      ("stranger's folder", "Contents/stranger", "unexpected"),
    ])
  func damage(kind: String, path: String, problem: String) async throws {
    let fixture = try StoreFixture()
    let content = try await install(fixture)
    let place = "\(fixture.libraryPath)/products/a/1.0/\(path)"
    func replace(_ body: () throws -> Void) throws {
      if !kind.hasPrefix("stranger") { try FileManager.default.removeItem(atPath: place) }
      try body()
    }
    let text = Array("The same in every version of a\n".utf8)
    switch kind {
    case "changed", "longer":
      let other = kind == "longer" ? text + [1] : text.reversed()
      try replace { try Data(other).write(to: URL(filePath: place)) }
      #expect(chmod(place, 0o444) == 0)
    case "missing": try replace {}
    case "writable": #expect(chmod(place, 0o644) == 0)
    case "executable": #expect(chmod(place, 0o555) == 0)
    case "setuid": #expect(chmod(place, 0o4444) == 0)
    case "open folder": #expect(chmod(place, 0o777) == 0)
    case "link":
      // A link to a file with the right bytes is not accepted.
      let elsewhere = fixture.folder.path("elsewhere")
      try Data(text).write(to: URL(filePath: elsewhere))
      try replace {
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: elsewhere)
      }
    case "pipe": try replace { #expect(mkfifo(place, 0o444) == 0) }
    case "stranger": try replace { try Data([1]).write(to: URL(filePath: place)) }
    default:
      try replace {
        try FileManager.default.createDirectory(
          atPath: place, withIntermediateDirectories: false)
      }
    }
    let found = try fixture.reader().verify(content)
    #expect(found.map(\.path) == [path])
    #expect(found.map(\.rule) == [problem])
    #expect(found.allSatisfy { $0.message.contains("\(path) of a 1.0") && !$0.remedy.isEmpty })
    let queue = try fixture.queue()
    #expect(try await queue.repair(content).damagedPaths == [path])
    queue.close()
    try fixture.expectInstalled("a", "1.0")
  }
}
