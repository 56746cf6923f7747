import HostedModel
import HostedTrust
import HostedFileIO
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Kills publishers with SIGKILL at random moments, while clients read the store.
///
/// `HOSTEDCONTENT_SEED` repeats the commands and, as far as the machine allows, the moments.
@Suite("Publishers killed at random moments", .long, .timeLimit(.minutes(60)))
struct PublisherCrashLoopTests {
  @Test("Clients never fail, and the next publisher continues", .slow)
  func crashLoop() throws {
    let kills = SlowTests.count(8, all: 400)
    let seed = SlowTests.seed(of: "publisher kills")
    var random = SplitMix(state: seed)
    let tool = try Tool.withStore()
    let root = try Array(tool.text("store/metadata/1.root.json").utf8)

    let clients = Clients(store: tool.folder.path("store"), root: root)
    clients.start()
    defer { clients.stop() }
    var publisher = Publisher(tool: tool)
    // The duration of an undisturbed command determines when the kills come.
    var usual: [Publisher.Command: Double] = [:]
    for command in Publisher.Command.allCases {
      let start = ContinuousClock.now
      let result = try tool.run(publisher.words(for: command, &random))
      #expect(result.status == 0, "\(result.errors)")
      usual[command] = (ContinuousClock.now - start) / .seconds(1)
    }
    var (killed, finished) = (0, 0)
    while killed < kills {
      let command = Publisher.Command.allCases.randomElement(using: &random) ?? .refresh
      let words = try publisher.words(for: command, &random)
      let errors = tool.folder.path("errors")
      let process = try tool.start(words, errors: errors)
      let limit = UInt32(1.2e6 * (usual[command] ?? 0.1))
      usleep(UInt32.random(in: 0...limit, using: &random))
      process.kill(SIGKILL)
      process.waitUntilExit()
      // One client checks the state directly after the kill.
      clients.look(newly: killed.isMultiple(of: 2))
      if process.terminationReason == .uncaughtSignal {
        killed += 1
        continue
      }
      finished += 1
      let text = try String(contentsOfFile: errors, encoding: .utf8)
      // A killed publication may have published nothing that can be retired.
      #expect(
        process.terminationStatus == 0 || text.contains("has no version"), "seed \(seed): \(text)")
    }
    clients.stop()
    let (failures, looks) = clients.result
    print("publisher kills: \(killed) kills, \(finished) ends, \(looks) looks, seed \(seed)")
    #expect(failures.isEmpty, "seed \(seed), \(failures.count) of \(looks): \(failures.prefix(3))")
    #expect(looks > kills)
    try tool.succeed("store", "refresh", "store", "--everything")
    try tool.succeed("store", "list", "store")
    let names = try FileManager.default.subpathsOfDirectory(atPath: tool.folder.path("store"))
    #expect(names.filter { $0.hasSuffix(".new") }.isEmpty)
  }
}

/// The commands of a publisher, who does not know which of them were killed.
private struct Publisher {
  enum Command: CaseIterable { case publish, retire, rotate, refresh, add }

  let tool: Tool
  private var version = 0

  init(tool: Tool) { self.tool = tool }

  /// Returns the arguments of the next `command`, and builds what it needs.
  mutating func words(for command: Command, _ random: inout SplitMix) throws -> [String] {
    switch command {
    case .publish:
      version += 1
      let files = ["a.txt": Data("version \(version)".utf8), "b.bin": Data(random.bytes(20_000))]
      return ["store", "publish", "store", try tool.makePackage("book", "\(version)", files)]
    case .retire: return ["store", "retire", "store", "book", "\(version)"]
    case .rotate:
      let roles = ["root", "targets", "snapshot", "timestamp"].shuffled(using: &random)
      return ["store", "rotate", "store"] + roles.prefix(Int.random(in: 1...4, using: &random))
    case .refresh: return ["store", "refresh", "store", "--everything"]
    case .add: return ["store", "add", "store", "club", "--title", "\(random.next())"]
    }
  }
}

/// Clients on separate threads that read the store all the time, and their failures.
private final class Clients: Sendable {
  private struct State {
    var failures: [String] = []
    var looks = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let store: String
  private let root: [UInt8]
  private let threads = DispatchGroup()

  init(store: String, root: [UInt8]) {
    self.store = store
    self.root = root
  }

  var result: (failures: [String], looks: Int) { state.withLock { ($0.failures, $0.looks) } }

  /// Starts one client that keeps its trusted metadata, and one that is new each time.
  func start() {
    for isNew in [true, false] {
      threads.enter()
      Thread.detachNewThread { [self] in
        let trust = try? TemporaryFolder()
        while !state.withLock({ $0.isStopped }) { look(newly: isNew, trust) }
        threads.leave()
      }
    }
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    threads.wait()
  }

  /// Refreshes once and fetches all records and some files, like a client of a local store.
  func look(newly isNew: Bool, _ known: TemporaryFolder? = nil) {
    var failure: String?
    do {
      let trust = try isNew ? TemporaryFolder() : known ?? TemporaryFolder()
      defer { withExtendedLifetime(trust) {} }
      let fetcher = FolderFetcher(try FileSystem.real.directory(at: store))
      let client = TrustClient(
        trustFolder: try trust.opened(), fetcher: fetcher, now: { Date() })
      let targets = try client.refresh(initialRoot: root)
      let products = try targets.lists.flatMap { try targets.list($0).products }
      let offers = try products.flatMap { try targets.record(of: $0.key, $0.value).offers }
      for file in offers.flatMap({ [$0.package, $0.index] }).shuffled().prefix(4) {
        let bytes = try fetcher.fetch(file.path, limit: file.length) ?? []
        try TargetFile(length: file.length, digest: file.digest).check(bytes, of: file.path)
      }
    } catch {
      failure = "\(error)"
    }
    state.withLock { state in
      state.looks += 1
      if let failure { state.failures.append(failure) }
    }
  }
}
