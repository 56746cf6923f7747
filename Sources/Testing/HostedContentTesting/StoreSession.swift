public import FoundationEssentials
import Glibc
import HostedConcurrency
import HostedFileIO
import HostedFileServer
import HostedPackage

/// A store, its store service and a library for one test.
///
/// Each session has its own temporary folder, port and clock, so that tests can run in parallel
/// with reproducible results. Content is served over HTTP on this machine, optionally with scripted
/// faults. One engine at a time uses the library: `launch`, `kill` and `relaunch` simulate a
/// service's process. Before the first launch, functions that act as the store service throw
/// `usage`. What it announces to a killed engine is lost. Thread-safe. `reset` starts again; the
/// folder is removed with the session.
public final class StoreSession: Sendable {
  /// The clock of the engine and the store.
  public let clock: TestClock

  let script = SessionScript()
  private let state: Mutex<State>

  private struct State {
    var place: Place
    var engine: (queue: PaymentQueue, process: SimulatedProcess)?
    /// The store service of the last launched engine.
    var seller: ScriptedSeller?
    var number = 0
    var publicationHandlers: [@Sendable () throws -> Void] = []
  }

  struct Place: Sendable {
    let folder: SessionFolder
    let store: StoreFolder
    let server: FileServer
    let url: URL

    init(now: Date) throws {
      folder = try SessionFolder()
      store = try StoreFolder.create(at: "\(folder.path)/store", now: now)
      server = try FileServer(folder: "\(folder.path)/store")
      try server.start()
      url = try URL(ofServer: server.url)
    }
  }

  /// Creates an empty store.
  ///
  /// Throws file errors.
  public init(clock: TestClock = TestClock()) throws {
    self.clock = clock
    state = Mutex(State(place: try Place(now: clock.now)))
  }

  deinit {
    let (place, engine) = state.withLock { ($0.place, $0.engine) }
    engine?.queue.close()
    place.server.stop()
  }

  var place: Place { state.withLock { $0.place } }

  /// The session's folder, which contains `store` and `library`.
  public var folder: URL { URL(filePath: place.folder.path, directoryHint: .isDirectory) }

  /// The library's folder.
  public var library: URL { folder.appending(path: "library", directoryHint: .isDirectory) }

  /// The URL of the store.
  public var storeURL: URL { place.url }

  /// Starts again without engine and script, with an empty store and library.
  ///
  /// The clock is not reset.
  public func reset() throws {
    kill()
    let place = try Place(now: clock.now)
    script.change { $0 = SellerScript() }
    // The old state is released outside the lock.
    let old = state.withLock { state in
      defer { (state.place, state.seller, state.publicationHandlers) = (place, nil, []) }
      return state
    }
    old.place.server.stop()
  }

  // MARK: The engine

  /// Returns the configuration for an engine of this session.
  ///
  /// You can change it. Each configuration is for one launch.
  public func configuration() throws -> PaymentQueue.Configuration {
    let place = place
    var configuration = PaymentQueue.Configuration(
      library: library, store: try StoreLocation(place.server.url))
    configuration.trustedRoot = try place.store.initialRoot()
    configuration.network.proxy = .direct
    configuration.network.firstRetryDelay = .milliseconds(10)
    configuration.clock = clock.engineClock
    configuration.seller = { [weak self, script, clock] store in
      let seller = ScriptedSeller(store, script, clock)
      // The earlier one is released outside the lock.
      _ = self?.state.withLock { state in
        defer { state.seller = seller }
        return state.seller
      }
      return seller
    }
    return configuration
  }

  /// Opens the library, like a service that starts.
  ///
  /// `change` adapts the configuration. Throws `usage` until an earlier engine was killed, even if
  /// its queue is closed, and errors of opening the library.
  @discardableResult
  public func launch(_ change: (inout PaymentQueue.Configuration) -> Void = { _ in }) throws
    -> PaymentQueue
  {
    guard state.withLock({ $0.engine == nil }) else {
      throw ContentError(
        .usage, "The session's engine is already running",
        remedy: "Call kill() or relaunch(), or create another session")
    }
    var configuration = try configuration()
    change(&configuration)
    let process = SimulatedProcess()
    configuration.fileSystem = process.fileSystem
    let queue = try PaymentQueue(configuration)
    state.withLock { $0.engine = (queue, process) }
    return queue
  }

  /// Ends the engine like a killed process: it cannot write to disk from now on.
  ///
  /// Earlier writes stay. Returns when the library is unlocked.
  public func kill() {
    let engine = state.withLock { state in
      defer { state.engine = nil }
      return state.engine
    }
    engine?.process.kill()
    engine?.queue.close()
  }

  /// Kills the engine and starts it again on the same library.
  @discardableResult
  public func relaunch(_ change: (inout PaymentQueue.Configuration) -> Void = { _ in }) throws
    -> PaymentQueue
  {
    kill()
    return try launch(change)
  }

  // MARK: The store service of the running engine

  /// Returns the store service of the last launched engine; throws `usage` before the first launch.
  func seller() throws -> ScriptedSeller {
    guard let seller = state.withLock({ $0.seller }) else {
      throw ContentError(
        .usage, "No engine has been launched", remedy: "Call launch() before the service acts")
    }
    return seller
  }

  /// Calls `body` after each publication from now on, so that servers sell it at once.
  func onPublication(_ body: @escaping @Sendable () throws -> Void) {
    state.withLock { $0.publicationHandlers.append(body) }
  }

  private func notePublication() throws {
    for body in state.withLock({ $0.publicationHandlers }) { try body() }
  }

  /// Returns a new number for each call.
  func nextNumber() -> Int {
    state.withLock { state in
      state.number += 1
      return state.number
    }
  }

  // MARK: What the store offers, and how it is served

  /// Builds a package of `files` and publishes it as `version` of a product.
  ///
  /// Files have paths below `Contents`. `content` selects one of several contents of the product.
  /// Without `files`, the content is one small text that differs for each version. Throws `usage`
  /// for another path, and what `StoreFolder.publish` throws.
  public func publish(
    _ product: ProductIdentifier, _ version: ContentVersion = "1.0",
    content: ProductIdentifier? = nil, files: [String: [UInt8]]? = nil,
    details: ProductDetails = ProductDetails()
  ) throws {
    let content = content ?? product
    let place = place
    let files = files ?? ["text.txt": Array("The text of \(content) \(version)\n".utf8)]
    let folder = try FileSystem.real.directory(at: place.folder.path)
    let source = "source-\(nextNumber())"
    let contents = try folder.createDirectory(source).createDirectory("Contents")
    for (path, bytes) in files { try Self.write(bytes, at: path, in: contents) }
    let output = "\(source).pkg"
    _ = try buildPackage(
      folder: folder.directory(source), output: folder, outputName: output,
      productIdentifier: product, contentIdentifier: content, version: version)
    try place.store.publish(["\(place.folder.path)/\(output)"], details: details, now: clock.now)
    try folder.removeTree(source)
    try folder.removeFile(output)
    try notePublication()
  }

  private static func write(_ bytes: [UInt8], at path: String, in root: Directory) throws {
    var folder = root
    var components = path.pathComponents()
    let isBelow = !components.contains(".") && !components.contains("..")
    guard isBelow, let name = components.popLast() else {
      throw ContentError(
        .usage, "“\(path)” is not the path of a file below Contents",
        remedy: "Use a path without “.” and “..”, such as a/b.txt")
    }
    for component in components { folder = try folder.createDirectory(component) }
    try folder.createFile(name).write(bytes)
  }

  /// Adds a product of any type without content, or changes the description of a product.
  public func offer(_ product: ProductIdentifier, details: ProductDetails = ProductDetails()) throws
  {
    try place.store.add(product, details: details, now: clock.now)
    try notePublication()
  }

  /// Signs the store's catalog again.
  ///
  /// It expires 90 days after it was last written.
  public func refreshCatalog() throws {
    try place.store.refresh(now: clock.now)
    try notePublication()
  }

  /// Sets the faults from now on, one rule per line.
  ///
  /// An empty text removes all faults. Examples: `*.pkg cut 64kB once`, `*.pkg rate 1MB/s`, `*.pkg
  /// body changed`, `* status 503`. Throws `usage` for an invalid rule.
  public func setFaults(_ script: String) throws {
    try place.server.setFaults(FaultScript(script, name: "the session's fault script"))
  }

  /// Stops the store's server, or starts it again at the same address.
  public func setStoreIsReachable(_ isReachable: Bool) throws {
    if isReachable { try place.server.start() } else { place.server.stop() }
  }

  /// The requests to the store, in order: method, path, range, status, bytes and faults.
  public var requests: [String] { place.server.requests.map(\.line) }
}

extension URL {
  init(ofServer text: String) throws {
    guard let url = URL(string: text) else {
      throw ContentError.defect("\(text) is not a URL")
    }
    self = url
  }
}

/// The process of an engine; after it was killed, the engine cannot access the disk.
private final class SimulatedProcess: Sendable {
  private let isKilled = Atomic(false)

  func kill() { isKilled.store(true, ordering: .sequentiallyConsistent) }

  var fileSystem: FileSystem {
    FileSystem { [self] _, path in
      guard isKilled.load(ordering: .sequentiallyConsistent) else { return }
      throw ContentError(
        .fileFailed, "The process was killed before it accessed \(path)", remedy: "Relaunch",
        subject: path)
    }
  }
}

/// A temporary folder of a session; it is removed with its contents at the end.
final class SessionFolder: Sendable {
  let path: String
  private let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

  init() throws {
    path = "\(parent)/hostedcontent-session-\(randomIdentifier())"
    _ = try FileSystem.real.directory(at: path, creating: true)
  }

  deinit {
    // If it cannot be removed, the cleanup of temporary files does it later.
    try? FileSystem.real.directory(at: parent).removeTree(path.lastPathComponent)
  }
}
