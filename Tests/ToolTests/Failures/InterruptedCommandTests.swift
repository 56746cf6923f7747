import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Commands that change a store or a library.
///
/// `InterruptionTests` has downloads.
@Suite("Interrupted commands", .timeLimit(.hang))
struct InterruptedCommandTests {
  /// The paths of the open files of a process.
  private func openFiles(_ process: ChildProcess) -> [String] {
    let folder = "/proc/\(process.processIdentifier)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
    }
  }

  /// Starts the tool and interrupts it when it has a file below `folder` open.
  private func interrupt(
    _ tool: Tool, _ words: [String], with number: Int32, reading folder: String
  ) throws -> (status: Int32, errors: String) {
    let process = try tool.start(words, errors: tool.folder.path("err.txt"))
    let path = tool.folder.path(folder)
    process.wait { openFiles(process).contains { $0.hasPrefix(path) } }
    process.kill(number)
    let status = process.waitUntilExit().status
    #expect(process.terminationReason == .exit, "\(words)")
    return (status, try tool.text("err.txt"))
  }

  @Test("An interrupted verification exits with 130", .slow, arguments: [SIGINT, SIGTERM])
  func verify(number: Int32) throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    // At one byte per second, it takes longer than the test.
    let ended = try interrupt(
      tool, ["verify", "--library", "lib", "--limit-rate", "1"], with: number,
      reading: "lib/")
    #expect(ended.status == 130)
    #expect(ended.errors.contains("interrupted"), "\(ended.errors)")
    try tool.succeed("verify", "--library", "lib")
  }

  @Test("An interrupted verification of a store exits with 130", arguments: [SIGINT, SIGTERM])
  func verifyStore(number: Int32) throws {
    let tool = try Tool.withBook()
    let ended = try interrupt(
      tool, ["store", "verify", "store", "--limit-rate", "1"], with: number,
      reading: "store/metadata")
    #expect(ended.status == 130)
    #expect(ended.errors.contains("interrupted"), "\(ended.errors)")
    try tool.succeed("store", "verify", "store")
  }

  @Test("An interrupted purchase names its transaction, with which it is sold once", .slow)
  func purchase() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    let words = ["purchase", Tool.chapter1] + server.service()
    server.process.kill(SIGSTOP)
    let process = try tool.start(words + ["--quiet"], errors: tool.folder.path("err.txt"))
    process.wait { openFiles(process).contains { $0.hasPrefix("socket:") } }
    process.kill(SIGINT)
    #expect(process.waitUntilExit().status == 130)
    server.process.kill(SIGCONT)
    let errors = try tool.text("err.txt")
    #expect(!errors.contains("again"))
    let named = try #require(errors.firstMatch(of: #/--transaction (\S+)\. \[/#), "\(errors)")
    for _ in 0..<2 { try tool.succeed(words + ["--transaction", String(named.output.1)]) }
    #expect(try tool.purchases("history", server) == [String(named.output.1): "purchased"])
  }

  /// The number of threads of a process.
  private func threads(_ process: ChildProcess) throws -> Int {
    try FileManager.default
      .contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/task").count
  }

  @Test("A signal is not lost while the tool starts", .slow, arguments: [SIGINT, SIGTERM])
  func starting(number: Int32) throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    for _ in 0..<10 {
      let process = try tool.start(
        ["verify", "--library", "lib", "--limit-rate", "1"], errors: tool.folder.path("err.txt"))
      // Its first own thread carries out the command. Without a pause, to be there at its start.
      while process.isRunning, try threads(process) == 1 {}
      process.kill(number)
      #expect(process.waitUntilExit().status == 130)
      #expect(process.terminationReason == .exit)
    }
  }

  @Test("An interrupted repair changes nothing, and the next one completes", .slow)
  func repair() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    let contents = tool.folder.path("lib/products/\(Tool.chapter1)/current/Contents")
    let files = try FileManager.default.subpathsOfDirectory(atPath: contents).filter {
      $0.hasSuffix(".txt") || $0.hasSuffix(".html")
    }
    try FileManager.default.removeItem(atPath: "\(contents)/\(#require(files.first))")
    let server = try tool.serveStore()
    let words = [
      "repair", "--store", server.url, "--root", "store/metadata/1.root.json", "--library", "lib",
    ]
    let before = try tool.tree("lib/products")
    for number in [SIGINT, SIGTERM] {
      try server.setFaults(FaultScript("*.pkg stall 0"))
      server.clearRequests()
      let process = try tool.start(words, errors: tool.folder.path("err.txt"))
      process.wait { server.requests.contains { $0.path.hasSuffix(".pkg") } }
      process.kill(number)
      #expect(process.waitUntilExit().status == 130)
      #expect(try tool.text("err.txt").contains("interrupted"))
      #expect(try tool.tree("lib/products") == before)
    }
    try server.setFaults(.none)
    let result = try tool.run(words)
    #expect(result.status == 0, "\(result.errors)")
    try tool.succeed("verify", "--library", "lib")
  }

  /// Commands that complete in one run, even after earlier interruptions.
  static let commands = [
    ["store", "publish", "store", Tool.sample("chapter1-1.10.pkg")],
    ["store", "retire", "store", Tool.chapter2, "1.0"],
    ["store", "refresh", "store", "--everything"],
    ["store", "rotate", "store", "root", "targets", "snapshot", "timestamp"],
    ["store", "add", "store", "com.example.club", "--title", "Club"],
    ["store", "repair", "store"],
    ["store", "prune", "store"],
    ["remove", Tool.chapter2, "--library", "lib"],
    ["collect", "--library", "lib"],
  ]

  @Test("Stores and libraries remain usable after an interrupted command", .slow)
  func storesAndLibraries() throws {
    let tool = try Tool.withBook()
    for product in [Tool.chapter1, Tool.chapter2] {
      try tool.succeed("get", product, "--store", "store", "--library", "lib")
    }
    var interrupted = 0
    for words in Self.commands {
      for number in [SIGINT, SIGTERM] {
        let ended = try interrupt(
          tool, words, with: number, reading: words[0] == "store" ? "store" : "lib")
        // The signal may come after the command has done its work, or when nothing is left to do.
        #expect([0, 1, 130].contains(ended.status), "\(words): \(ended.errors)")
        if ended.status == 130 {
          interrupted += 1
          #expect(ended.errors.contains("interrupted"), "\(words): \(ended.errors)")
        }
        try tool.succeed("store", "list", "store")
        try tool.succeed("verify", "--library", "lib")
      }
      let again = try tool.run(words)
      // Status 1 means that nothing is left to retire or remove.
      let isDone: [Int32] = words.contains(Tool.chapter2) ? [0, 1] : [0]
      #expect(isDone.contains(again.status), "\(words): \(again.errors)")
    }
    #expect(interrupted > 0)
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(try tool.current() == [Tool.chapter1: "1.10"])
    let listed = try tool.succeed("store", "list", "store").output
    #expect(listed.contains("com.example.club") && !listed.contains("\(Tool.chapter2) 1.0"))
  }
}
