import HostedLibrary
import HostedModel
import HostedCrashPoints
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport

/// A service: a process with its own library, which runs until it is told to stop.
///
/// It writes a line that starts with BROKEN for each problem, and one line with all that it did.
final class Service: Sendable {
  private let library: URL
  private let configuration: PaymentQueue.Configuration
  private let state: Mutex<State>
  private let mustStop = Atomic(false)

  private struct State {
    var random: SplitMix
    var counts: [String: Int] = [:]
    var isBroken = false
  }

  /// `words`: library, store, mirror, the file of the trusted root, seed.
  init(_ words: [String]) throws {
    library = URL(filePath: words[0])
    var configuration = PaymentQueue.Configuration(
      library: library, store: try StoreLocation(words[1]))
    configuration.mirrors = [try StoreLocation(words[2])]
    configuration.trustedRoot = Array(try Data(contentsOf: URL(filePath: words[3])))
    configuration.network.connectTimeout = .seconds(1)
    configuration.network.stallTimeout = .milliseconds(700)
    configuration.network.attempts = 4
    configuration.network.firstRetryDelay = .milliseconds(50)
    self.configuration = configuration
    state = Mutex(State(random: SplitMix(state: UInt64(words[4]) ?? 0)))
  }

  /// Works until SIGTERM, and then completes everything.
  ///
  /// Returns false if a promise was broken.
  func run() async throws -> Bool {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    source.setEventHandler { [self] in mustStop.store(true, ordering: .relaxed) }
    source.resume()
    let queue = try PaymentQueue(configuration)
    do {
      try checkWhole()
      try await mend(queue)
      try switchForth(queue)
      while !mustStop.load(ordering: .relaxed) { try await act(queue) }
      try await complete(queue)
    } catch {
      report("\(error)")
    }
    queue.close()
    source.cancel()
    let (counts, isBroken) = state.withLock { ($0.counts, $0.isBroken) }
    let text = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    say("done: \(text.joined(separator: ", "))")
    return !isBroken
  }

  private func report(_ problem: String) {
    state.withLock { $0.isBroken = true }
    say("BROKEN: \(library.lastPathComponent): \(problem)")
  }

  private func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }

  private func random(below limit: Int) -> Int {
    state.withLock { Int.random(in: 0..<limit, using: &$0.random) }
  }

  // MARK: Actions

  private func act(_ queue: PaymentQueue) async throws {
    do {
      switch random(below: 10) {
      case 0: try checkWhole()
      case 1: try await damageAndMend(queue)
      case 2:
        let freed = try await queue.collect(CollectionPolicy(keptVersions: 2)).removed
        freed.forEach { _ in count("collected") }
      case 3: try switchBackAndForth(queue)
      case 4: try await changeOfMind(queue)
      default: try await bringAll(queue)
      }
    } catch let error as ContentError where Self.isExpected(error) {
      count("network or server failures")
    }
  }

  /// Whether servers that are killed or that inject faults may cause `error`.
  private static func isExpected(_ error: ContentError) -> Bool {
    error.group == .network || error.group == .server || error.code == .productUnknown
      || [.metadataDamaged, .digestMismatch, .signatureInvalid].contains(error.code)
  }

  private func bringAll(_ queue: PaymentQueue) async throws {
    let failures = await withTaskGroup(of: (any Error)?.self) { group -> [any Error] in
      for product in Goods.products {
        group.addTask {
          do {
            try await queue.bring(product)
            return nil
          } catch { return error }
        }
      }
      return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
    }
    count("rounds of updating all")
    for failure in failures {
      guard let error = failure as? ContentError, Self.isExpected(error) else { throw failure }
      count("network or server failures")
    }
  }

  /// Checks that everything is installed within a minute, whatever the servers do.
  private func complete(_ queue: PaymentQueue) async throws {
    let start = ContinuousClock.now
    while ContinuousClock.now - start < .seconds(60) {
      try await bringAll(queue)
      if queue.transactions.isEmpty, try await hasAllThatIsOffered(queue) {
        return try checkWhole()
      }
    }
    report("incomplete after a minute: \(queue.transactions)")
  }

  /// Checks each product, since a list of updates omits contents that could not be read.
  private func hasAllThatIsOffered(_ queue: PaymentQueue) async throws -> Bool {
    let response: ProductsResponse
    do {
      response = try await queue.products(Set(Goods.products))
    } catch let error as ContentError where Self.isExpected(error) {
      return false
    }
    guard response.products.count == Goods.products.count else { return false }
    return try response.products.flatMap(\.contents).allSatisfy {
      try queue.installedVersion(of: $0.contentIdentifier) == $0.version
    }
  }

  /// Buys again, starts, pauses, cancels, and still finishes.
  private func changeOfMind(_ queue: PaymentQueue) async throws {
    let product = Goods.products[random(below: Goods.products.count)]
    let transaction = try await queue.purchase(
      Payment(productIdentifier: try ProductIdentifier(validating: product)))
    queue.start(transaction.downloads)
    if random(below: 2) == 0 { queue.pause(transaction.downloads) }
    if random(below: 2) == 0 { queue.cancel(transaction.downloads) }
    try await queue.finish(transaction)
    count("bought again and cancelled")
  }

  /// A file with the product whose older version is in use.
  private var switchingNote: URL { library.appendingPathExtension("switching") }

  private func switchBackAndForth(_ queue: PaymentQueue) throws {
    let product = Goods.products[random(below: Goods.products.count)]
    guard let oldest = try installedVersions(of: ProductIdentifier(validating: product)).first
    else { return }
    try Data(product.utf8).write(to: switchingNote, options: .atomic)
    try queue.use(oldest, of: ProductIdentifier(validating: product))
    try switchForth(queue)
    count("switched back and forth")
  }

  /// Switches to the newest version, even after a kill, since a chosen version stays in use.
  private func switchForth(_ queue: PaymentQueue) throws {
    guard let note = try? Data(contentsOf: switchingNote) else { return }
    let product = try ProductIdentifier(validating: String(decoding: note, as: UTF8.self))
    if let newest = try installedVersions(of: product).last { try queue.use(newest, of: product) }
    try FileManager.default.removeItem(at: switchingNote)
  }

  /// Returns the versions, oldest first.
  private func installedVersions(of product: ProductIdentifier) throws -> [ContentVersion] {
    try LibraryReader(library).contents().map(\.content)
      .filter { $0.contentIdentifier == product }.map(\.version)
  }

  // MARK: Checks

  /// Checks that each installed version is as published, except files that this service damaged.
  private func checkWhole() throws {
    let reader = try LibraryReader(library)
    for entry in try reader.contents() {
      let damages = try reader.verify(entry.content).filter { $0.path != Self.damagedFile }
      if !damages.isEmpty { report("\(entry.content.contentIdentifier): \(damages)") }
      let product = entry.content.contentIdentifier.rawValue
      let version = entry.content.version.rawValue
      for (path, bytes) in Goods.files(product, version) where path != Self.damagedFile {
        let found = try? Data(contentsOf: entry.url.appending(path: path))
        if found != Data(bytes) { report("\(product) \(version) \(path)") }
      }
    }
    count("complete checks")
  }

  private static let damagedFile = "Contents/pages/3.txt"

  private func damageAndMend(_ queue: PaymentQueue) async throws {
    let entries = try LibraryReader(library).contents()
    guard !entries.isEmpty else { return }
    let path = entries[random(below: entries.count)].url.appending(path: Self.damagedFile).path
    try FileManager.default.removeItem(atPath: path)
    try Data("damage".utf8).write(to: URL(filePath: path))
    try await mend(queue)
  }

  private func mend(_ queue: PaymentQueue) async throws {
    for entry in try LibraryReader(library).contents() {
      let report = try await queue.repair(entry.content)
      if !report.damagedPaths.isEmpty { count("repaired") }
    }
  }
}
