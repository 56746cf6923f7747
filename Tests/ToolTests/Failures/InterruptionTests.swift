import HostedDatabase
import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// A download of a larger package is stopped, and the next run continues it.
@Suite("Interrupted downloads")
struct InterruptionTests {
  static let film = "com.example.film"
  /// The length of the incompressible file, and how many bytes of each response the server sends at
  /// first.
  static let (length, sent) = (9_000_000, 3_000_000)

  /// Returns a tool with a store of one film, and a server that stalls during the transfer.
  private func filmTool() throws -> (tool: Tool, server: FileServer) {
    let tool = try Tool()
    var random = SplitMix(state: 1)
    let package = try tool.makePackage(
      Self.film, "1.0", ["film.bin": Data(random.bytes(Self.length))])
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "publish", "store", package)
    let server = try tool.serveStore()
    return (tool, server)
  }

  private func words(_ server: FileServer) -> [String] {
    ["get", Self.film] + options(server)
  }

  private func options(_ server: FileServer) -> [String] {
    ["--store", server.url, "--root", "store/metadata/1.root.json", "--library", "lib"]
  }

  /// Buys the film in another library; returns the words that restore it.
  private func restoring(_ tool: Tool, _ server: FileServer) throws -> [String] {
    try tool.succeed("get", Self.film, "--store", "store", "--library", "first")
    return ["restore", "--download", "--ledger", "first/ledger.sqlite"] + options(server)
  }

  /// The number of the film's bytes in staging.
  ///
  /// Pieces arrive in any order, so holes are not counted.
  private func fetched(_ tool: Tool) -> Int {
    let staging = tool.folder.path("lib/staging")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? []
    return names.reduce(0) { sum, name in
      let film = open("\(staging)/\(name)/content/Contents/film.bin", O_RDONLY | O_CLOEXEC)
      guard film != -1 else { return sum }
      defer { close(film) }
      var (written, end) = (0, 0)
      while true {
        let start = lseek(film, end, Self.seekData)
        guard start != -1 else { return sum + written }
        end = lseek(film, start, Self.seekHole)
        guard end != -1 else { return sum + written }
        written += end - start
      }
    }
  }

  /// For lseek(2).
  ///
  /// Swift only imports them with `_GNU_SOURCE`.
  private static let (seekData, seekHole) = (Int32(3), Int32(4))

  private func expectNextRunCompletes(_ tool: Tool, _ server: FileServer) throws {
    #expect(fetched(tool) >= Self.sent / 2, "fetched data is kept")
    let open = try tool.unfinished()
    #expect(open.count == 1)
    #expect(open.first?["productIdentifier"] as? String == Self.film)
    #expect(open.first?["state"] as? String == "purchased")
    let download = try #require((open.first?["downloads"] as? [[String: Any]])?.first)
    #expect(download["contentIdentifier"] as? String == Self.film)
    #expect(try tool.current().isEmpty, "half a film is not installed")

    try server.setFaults(.none)
    let result = try tool.run(words(server))
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      FileManager.default.contentsEqual(
        atPath: tool.folder.path("sources/\(Self.film)-1.0/Contents/film.bin"),
        andPath: tool.folder.path("lib/products/\(Self.film)/current/Contents/film.bin")))
    try tool.succeed("verify", "--library", "lib")
    #expect(try tool.unfinished().isEmpty)
    let staging = try FileManager.default.contentsOfDirectory(
      atPath: tool.folder.path("lib/staging"))
    #expect(staging == ["CACHEDIR.TAG"])
  }

  @Test(
    "Interrupted, terminated or killed: fetched data is kept, and the next run continues", .slow)
  func signals() throws {
    let (tool, server) = try filmTool()
    for number in [SIGINT, SIGTERM, SIGKILL] {
      try? FileManager.default.removeItem(atPath: tool.folder.path("lib"))
      try server.setFaults(FaultScript("*.pkg stall \(Self.sent)"))
      let process = try tool.start(
        words(server), output: tool.folder.path("out.txt"), errors: tool.folder.path("err.txt"))
      process.wait { fetched(tool) >= Self.sent / 2 }
      process.kill(number)
      process.waitUntilExit()
      if number == SIGKILL {
        #expect(process.terminationReason == .uncaughtSignal)
      } else {
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == 130)
        let errors = try tool.text("err.txt")
        #expect(errors.contains("interrupted; not installed: \(Self.film)"), "\(errors)")
        #expect(try tool.text("out.txt") == "")
      }
      try expectNextRunCompletes(tool, server)
    }
  }

  @Test("An interrupted unpack leaves no files", .slow)
  func unpackInterrupted() throws {
    let tool = try Tool()
    let package = try tool.makePackage("film", "1.0", ["film.bin": Data(count: 20 << 20)])
    let process = try tool.start(["unpack", package, "--into", "out"])
    func temporary() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).filter {
        $0.hasPrefix(".out.")
      }
    }
    try process.wait { try !temporary().isEmpty }
    process.kill(SIGTERM)
    process.waitUntilExit()
    // The signal may come after everything is written. Then the folder is complete.
    #expect(process.terminationStatus == (tool.exists("out") ? 0 : 130))
    #expect(try temporary().isEmpty)
  }

  @Test("An interrupted build of a package leaves no files", .slow, arguments: [SIGINT, SIGTERM])
  func packageInterrupted(number: Int32) throws {
    let tool = try Tool()
    var random = SplitMix(state: 2)
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("film/Contents"), withIntermediateDirectories: true)
    let part = Data(random.bytes(1 << 20))
    for index in 1...60 {
      try part.write(to: URL(filePath: tool.folder.path("film/Contents/\(index).bin")))
    }
    let before = try tool.tree()
    let process = try tool.start(
      ["package", "film", "--output", "film.pkg", "--product", "a", "--content-version", "1"],
      errors: "/dev/null")
    process.wait { tool.exists(".film.pkg.new") }
    process.kill(number)
    #expect(process.waitUntilExit().status == 130)
    #expect(process.terminationReason == .exit)
    #expect(Set(try tool.tree().keys) == Set(before.keys))
  }

  @Test("An interrupted restore keeps fetched data, and the next one continues", .slow)
  func restoreInterrupted() throws {
    let (tool, server) = try filmTool()
    let restore = try restoring(tool, server)
    for number in [SIGINT, SIGTERM] {
      try? FileManager.default.removeItem(atPath: tool.folder.path("lib"))
      try server.setFaults(FaultScript("*.pkg stall \(Self.sent)"))
      let process = try tool.start(
        restore, output: tool.folder.path("out.txt"), errors: tool.folder.path("err.txt"))
      process.wait { fetched(tool) >= Self.sent / 2 }
      process.kill(number)
      #expect(process.waitUntilExit().status == 130)
      #expect(process.terminationReason == .exit)
      let errors = try tool.text("err.txt")
      #expect(errors.contains("interrupted; not installed: \(Self.film)"), "\(errors)")
      #expect(fetched(tool) >= Self.sent / 2, "fetched data is kept")
      #expect(try tool.unfinished().count == 1)

      try server.setFaults(.none)
      server.clearRequests()
      let again = try tool.run(words(server))
      #expect(again.status == 0, "\(again.errors)")
      let moved = server.requests.reduce(0) { $0 + $1.bytesSent }
      #expect(moved < Self.length - Self.sent / 4, "\(moved) bytes, of \(Self.length)")
      try tool.succeed("verify", "--library", "lib")
      #expect(try tool.unfinished().isEmpty)
    }
  }

  @Test(
    "An interrupted restore ends although a disk hangs, and the next run continues", .slow,
    .enabled(if: SyncDelay.isUsable, Comment(rawValue: SyncDelay.reason)), .timeLimit(.hang))
  func restoreHangs() throws {
    let (tool, server) = try filmTool()
    let delay = try SyncDelay()
    try server.setFaults(FaultScript("*.pkg stall \(Self.sent)"))
    let process = try tool.start(
      restoring(tool, server), errors: tool.folder.path("err.txt"), environment: delay.environment)
    process.wait { fetched(tool) >= Self.sent / 2 }
    // Longer than a test. The queue empties its journal's log before it is closed.
    try delay.set(milliseconds: 3_600_000)
    process.kill(SIGINT)
    #expect(process.waitUntilExit().status == 130)
    let errors = try tool.text("err.txt")
    #expect(errors.contains("not closed within 15 seconds"), "\(errors)")

    try server.setFaults(.none)
    let again = try tool.run(words(server))
    #expect(again.status == 0, "\(again.errors)")
    try tool.succeed("verify", "--library", "lib")
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("Without progress, a restore ends after the timeout, and the next run continues", .slow)
  func restoreTimeout() throws {
    let (tool, server) = try filmTool()
    try server.setFaults(FaultScript("*.pkg stall \(Self.sent)"))
    let restore = try restoring(tool, server)
    let result = try tool.run(restore + ["--timeout", "1"])
    #expect(result.status == 1)
    let reason = "No progress for 1 second; not installed: \(Self.film)"
    #expect(result.errors.contains(reason), "\(result.errors)")
    #expect(try tool.unfinished().count == 1)

    try server.setFaults(.none)
    try tool.succeed(restore)
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("An interrupted restore has reported at once what failed before", .slow)
  func restoreFailsAndStops() throws {
    let (tool, server) = try filmTool()
    let poster = "com.example.poster"
    let package = try tool.makePackage(poster, "1.0", ["poster.txt": Data("poster".utf8)])
    try tool.succeed("store", "publish", "store", package)
    try tool.succeed("get", poster, "--store", "store", "--library", "first")
    try server.setFaults(FaultScript("*poster*.pkg status 404\n*film*.pkg stall \(Self.sent)"))
    let process = try tool.start(
      restoring(tool, server), output: tool.folder.path("out.txt"),
      errors: tool.folder.path("err.txt"))
    try process.wait { try tool.text("err.txt").contains("hostedcontent: ") }
    process.kill(SIGINT)
    #expect(process.waitUntilExit().status == 130)
    let errors = try tool.text("err.txt").split(separator: "\n")
      .filter { $0.hasPrefix("hostedcontent: ") }
    #expect(errors.count == 2, "\(errors)")
    #expect(errors.first?.contains(poster) == true, "\(errors)")
    #expect(errors.last?.contains("not installed: \(Self.film), \(poster)") == true, "\(errors)")
  }

  @Test("An interrupted publication leaves the old or the new store", .slow)
  func publishInterrupted() throws {
    let tool = try Tool()
    var random = SplitMix(state: 3)
    let package = try tool.makePackage("film", "1.0", ["film.bin": Data(random.bytes(20 << 20))])
    try tool.succeed("store", "init", "store")
    let process = try tool.start(
      ["store", "publish", "store", package], errors: tool.folder.path("err.txt"))
    try process.wait { try !tool.tree("store/targets").isEmpty }
    process.kill(SIGTERM)
    let status = process.waitUntilExit().status
    let listed = try tool.succeed("store", "list", "store").output
    #expect(status == 0 ? listed.contains("film") : status == 130)
    try tool.succeed("store", "publish", "store", package)
    try tool.succeed("get", "film", "--store", "store", "--library", "lib")
  }

  @Test("Without progress, a run ends after the timeout, and the next one continues", .slow)
  func timeout() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    // A service that cannot lock the grants does not answer.
    let grants = try SQLiteConnection(path: tool.folder.path("lib/ledger.sqlite"), .existing)
    try grants.execute("BEGIN IMMEDIATE")
    let words = ["get", Tool.chapter2, "--store", "store", "--library", "lib"]
    let result = try tool.run(words + ["--timeout", "1"])
    #expect(result.status == 1)
    #expect(result.errors.contains("for 1 second"), "\(result.errors)")
    #expect(result.errors.contains("not installed: \(Tool.chapter2)"), "\(result.errors)")
    // On a busy machine, the timeout may come before the purchase has started.
    #expect([nil, "purchasing"].contains(try tool.unfinished().first?["state"] as? String))
    try grants.execute("ROLLBACK")
    let again = try tool.run(words)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try tool.unfinished().isEmpty)
  }
}
