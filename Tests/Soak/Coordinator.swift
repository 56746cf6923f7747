import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedTestSupport

/// Starts servers and services, kills them, publishes, and checks the result.
final class Coordinator {
  private let folder: TemporaryFolder
  private let store: StoreFolder
  private var random: SplitMix
  private var version = 0
  private var published: [String: String] = [:]
  private var ports: [ReservedPort] = []
  private var servers: [Child] = []
  private var services: [Child] = []
  private let own = getpid()

  private static let serviceCount = 3
  /// The first answers for each path of a package.
  ///
  /// New versions have new paths.
  private static let faults = """
    *.pkg    cut 64kB                     once
    *.pkg    reset 100kB                  after 1 once
    *.pkg    status 503 retry-after 1     after 3 once
    *.pkg    flip 50000                   after 4 once
    *.pkg    stall 20kB 1s                after 6 once
    *.index  cut 100                      once
    /metadata/timestamp.json  status 500  after 5 2 times
    /metadata/timestamp.json  cut 50      after 12 2 times
    *        latency 1ms
    """

  init(seed: UInt64) throws {
    folder = try TemporaryFolder()
    random = SplitMix(state: seed)
    store = try StoreFolder.create(at: folder.path("store"))
    try Self.faults.write(toFile: folder.path("faults.txt"), atomically: true, encoding: .utf8)
    try Data(store.initialRoot()).write(to: URL(filePath: folder.path("root.json")))
  }

  /// Runs for `seconds`, and returns the broken promises.
  func run(seconds: Double) throws -> [String] {
    try publish(Goods.products)
    let urls = try (0..<2).map { try startServer($0) }
    for number in 0..<Self.serviceCount {
      let child = try Child(
        Program.path("HostedSoak"),
        [
          "service", library(number), urls[number % 2], urls[1 - number % 2],
          folder.path("root.json"), "\(random.next())",
        ], output: folder.path("service-\(number).log"))
      try child.start()
      services.append(child)
    }
    var histories = [
      UsageHistory("service"), UsageHistory("server"), UsageHistory("this process"),
    ]
    let start = ContinuousClock.now
    var nextSample = start
    let pause = max(0.5, seconds / 400)
    while ContinuousClock.now - start < .seconds(seconds) {
      usleep(100_000)
      try disturb()
      guard ContinuousClock.now >= nextSample else { continue }
      nextSample += .seconds(pause)
      histories[0].add(Usage(of: services[0].identifier, folder: library(0)))
      histories[1].add(Usage(of: servers[1].identifier, folder: nil))
      histories[2].add(Usage(of: own, folder: nil))
    }
    var broken = try end()
    for history in histories {
      let (lines, grown) = history.compare()
      lines.forEach(say)
      broken += grown
    }
    return broken
  }

  private func library(_ number: Int) -> String { folder.path("library-\(number)") }

  // MARK: Faults

  /// A repeated event with random delays.
  private struct Occasion {
    let seconds: ClosedRange<Double>
    var next: ContinuousClock.Instant

    init(every seconds: ClosedRange<Double>) {
      self.seconds = seconds
      next = .now + .seconds(seconds.lowerBound)
    }

    mutating func isDue(_ random: inout SplitMix) -> Bool {
      guard ContinuousClock.now >= next else { return false }
      next = .now + .seconds(Double.random(in: seconds, using: &random))
      return true
    }
  }

  private var serviceKill = Occasion(every: 0.2...3)
  private var serverKill = Occasion(every: 1...8)
  private var serverStart = Occasion(every: 0.2...1)
  private var publication = Occasion(every: 1...5)

  /// Kills services except the first, and servers except the last, restarts them, and publishes.
  private func disturb() throws {
    if serviceKill.isDue(&random) {
      let service = services[Int.random(in: 1..<services.count, using: &random)]
      _ = service.kill()
      try service.start()
    }
    if serverKill.isDue(&random) { _ = servers[0].kill() }
    if !servers[0].isRunning, serverStart.isDue(&random) { try servers[0].start() }
    if publication.isDue(&random) {
      try publish([Goods.products[Int.random(in: 0..<Goods.products.count, using: &random)]])
    }
    for service in services where !service.isRunning {
      // Its output is in its log.
      try service.start()
    }
  }

  private func publish(_ products: [String]) throws {
    version += 1
    try Goods.publish(products, "1.\(version)", to: store, work: folder.path)
    for product in products { published[product] = "1.\(version)" }
  }

  /// Starts a server on a port that it keeps after restarts, and returns its URL.
  private func startServer(_ number: Int) throws -> String {
    let port = try ReservedPort()
    ports.append(port)
    let child = try Child(
      Program.path("hostedcontent"),
      [
        "serve", folder.path("store"), "--listen", "127.0.0.1:\(port.number)", "--fault",
        folder.path("faults.txt"),
      ], output: folder.path("server-\(number).log"))
    try child.start()
    servers.append(child)
    return "http://127.0.0.1:\(port.number)/"
  }

  // MARK: Results

  /// Lets all processes end, and checks everything.
  private func end() throws -> [String] {
    var broken: [String] = []
    if !servers[0].isRunning { try servers[0].start() }
    for (number, service) in services.enumerated() {
      if !service.isRunning { try service.start() }
      let status = service.stop(seconds: 120)
      if status != 0 {
        broken.append("service \(number) ended with \(status.map(String.init) ?? "a kill")")
      }
    }
    for server in servers where server.stop(seconds: 10) != 0 {
      broken.append("a server did not stop on request")
    }
    for number in services.indices {
      let log = try String(contentsOfFile: folder.path("service-\(number).log"), encoding: .utf8)
      broken += log.split(separator: "\n").filter { !$0.hasPrefix("done: ") }.map(String.init)
      say("service \(number): \(log.split(separator: "\n").last ?? "no output")")
      broken += try check(library(number))
    }
    let kills = (services + servers).reduce(0) { $0 + $1.kills }
    say("soak: \(kills) kills, \(version) publications")
    return broken
  }

  private func check(_ library: String) throws -> [String] {
    let reader = try LibraryReader(URL(filePath: library))
    let entries = try reader.contents()
    var broken: [String] = []
    for product in Goods.products {
      let current = entries.first {
        $0.isCurrent && $0.content.contentIdentifier.rawValue == product
      }
      if current?.content.version.rawValue != published[product] {
        broken.append("\(library): \(product) is \(current?.content.version.rawValue ?? "missing")")
      }
    }
    for entry in entries {
      let damages = try reader.verify(entry.content)
      if !damages.isEmpty { broken.append("\(library): \(damages)") }
    }
    let open = try reader.transactions()
    if !open.isEmpty { broken.append("\(library): \(open.count) unfinished transactions") }
    let staged = try FileManager.default.contentsOfDirectory(atPath: "\(library)/staging")
      .filter { $0 != "CACHEDIR.TAG" }
    if !staged.isEmpty { broken.append("\(library): left in staging: \(staged)") }
    return broken
  }
}
