import ContentModel
import Foundation
import TestSupport
import Testing

/// A download of a larger package is stopped on its way, and goes on with the next run.
@Suite("Stopped on the way")
struct InterruptionTests {
  static let film = "com.example.film"
  static let words = ["get", film, "--store", "store", "--library", "lib"]
  static let megabytes = 60

  /// A tool with a store of one film of random bytes, which do not compress.
  private func filmTool() throws -> Tool {
    let tool = try Tool()
    let source = tool.folder.path("film/Contents")
    try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
    let random = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
    let bytes = try #require(try random.read(upToCount: Self.megabytes << 20))
    try bytes.write(to: URL(filePath: "\(source)/film.bin"))
    try tool.succeed(
      "package", "film", "--output", "film.pkg", "--product", Self.film, "--content-version", "1.0")
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "publish", "store", "film.pkg")
    return tool
  }

  /// Bytes of the film that are in staging; its pieces come in any order, so blocks are counted.
  private func fetched(_ tool: Tool) -> Int {
    let staging = tool.folder.path("lib/staging")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      let found = stat("\(staging)/\(name)/content/Contents/film.bin", &status)
      return sum + (found == 0 ? Int(status.st_blocks) * 512 : 0)
    }
  }

  /// Starts a get in a new library and holds its process still once a part of the film is there.
  private func stopOnTheWay(_ tool: Tool, first: String? = nil) throws -> Process {
    // On a busy machine the film may be complete before it is looked at: then once more.
    for _ in 0..<20 {
      try? FileManager.default.removeItem(atPath: tool.folder.path("lib"))
      if let first { try tool.succeed("get", first, "--store", "store", "--library", "lib") }
      let process = try tool.start(
        Self.words, output: tool.folder.path("out.txt"), errors: tool.folder.path("err.txt"))
      while process.isRunning, fetched(tool) < 4 << 20 { usleep(500) }
      kill(process.processIdentifier, SIGSTOP)
      if process.isRunning, (4 << 20..<(Self.megabytes - 4) << 20).contains(fetched(tool)) {
        return process
      }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    throw ContentError(
      .timedOut, "The film is too short for this machine", remedy: "Make it longer")
  }

  private func expectNextRunCompletes(_ tool: Tool, from kept: Int) throws {
    #expect(kept >= 4 << 20, "what was fetched is kept")
    let open = try tool.unfinished()
    #expect(open.count == 1)
    #expect(open.first?["productIdentifier"] as? String == Self.film)
    #expect(open.first?["state"] as? String == "purchased")
    let download = try #require((open.first?["downloads"] as? [[String: Any]])?.first)
    #expect(download["contentIdentifier"] as? String == Self.film)
    #expect(try tool.current().isEmpty, "half a film is not there")

    let result = try tool.run(Self.words)
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      FileManager.default.contentsEqual(
        atPath: tool.folder.path("film/Contents/film.bin"),
        andPath: tool.folder.path("lib/products/\(Self.film)/current/Contents/film.bin")))
    try tool.succeed("verify", "--library", "lib")
    #expect(try tool.unfinished().isEmpty)
    let staging = try FileManager.default.contentsOfDirectory(
      atPath: tool.folder.path("lib/staging"))
    #expect(staging == ["CACHEDIR.TAG"])
  }

  @Test("Interrupted, terminated or killed: what was fetched is kept and the next run goes on")
  func signals() throws {
    let tool = try filmTool()
    for number in [SIGINT, SIGTERM, SIGKILL] {
      var kept = 0
      // On a busy machine the film may be complete before the signal is seen: then once more.
      for _ in 0..<20 where kept == 0 {
        let process = try stopOnTheWay(tool)
        kill(process.processIdentifier, number)
        kill(process.processIdentifier, SIGCONT)
        process.waitUntilExit()
        if number == SIGKILL {
          #expect(process.terminationReason == .uncaughtSignal)
        } else {
          #expect(process.terminationReason == .exit)
          #expect(process.terminationStatus == 1)
          let errors = try tool.text("err.txt")
          #expect(errors.contains("interrupted; not installed: \(Self.film)"), "\(errors)")
          #expect(try tool.text("out.txt") == "")
        }
        kept = fetched(tool)
      }
      try expectNextRunCompletes(tool, from: kept)
    }
    try expectReadersBesideAWriter(tool)
  }

  /// While a process holds the library, it can be read, and a second writer is told who holds it.
  private func expectReadersBesideAWriter(_ tool: Tool) throws {
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg"))
    let process = try stopOnTheWay(tool, first: Tool.chapter1)
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    #expect(try tool.unfinished().count == 1)
    #expect(try tool.succeed("queue", "--library", "lib").output.contains(Self.film))
    try tool.succeed("verify", "--library", "lib")
    try tool.succeed("updates", "--store", "store", "--library", "lib")
    for words in [["get", Tool.chapter1], ["update"]] {
      let result = try tool.run(words + ["--store", "store", "--library", "lib"])
      #expect(result.status == 1)
      #expect(result.errors.contains("process \(process.processIdentifier) "), "\(result.errors)")
      #expect(result.errors.contains("[310]"))
    }
  }

  @Test("Interrupted while it unpacks, nothing is left behind")
  func unpackInterrupted() throws {
    let tool = try Tool()
    let package = try tool.makePackage("film", "1.0", ["film.bin": Data(count: 20 << 20)])
    let process = try tool.start(["unpack", package, "--into", "out"])
    func temporary() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).filter {
        $0.hasPrefix(".out.")
      }
    }
    while process.isRunning, try temporary().isEmpty { usleep(500) }
    kill(process.processIdentifier, SIGTERM)
    process.waitUntilExit()
    // The signal may come when all is written; then it is all there.
    #expect(process.terminationStatus == (tool.exists("out") ? 0 : 1))
    #expect(try temporary().isEmpty)
  }

  @Test("Without progress a run ends after the time that was set, and the next one goes on")
  func timeout() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    // Whoever holds the lock of the grants keeps the seller from answering.
    let lock = open(tool.folder.path("lib/grants.json.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(lock, LOCK_EX) == 0)
    let words = ["get", Tool.chapter2, "--store", "store", "--library", "lib"]
    let result = try tool.run(words + ["--timeout", "1"])
    #expect(result.status == 1)
    #expect(result.errors.contains("for 1 second"), "\(result.errors)")
    #expect(result.errors.contains("not installed: \(Tool.chapter2)"), "\(result.errors)")
    // On a busy machine the time may be over before the purchase was begun.
    #expect([nil, "purchasing"].contains(try tool.unfinished().first?["state"] as? String))
    close(lock)
    let again = try tool.run(words)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try tool.unfinished().isEmpty)
  }
}
