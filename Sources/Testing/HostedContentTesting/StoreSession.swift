import ContentModel
import ContentStore
import FileIO
public import FoundationEssentials
public import HostedContent
import Concurrency
import StoreServer

/// A store, its seller and a library for one test: made in it, reset at will, gone with it.
///
/// Each session has a temporary folder, a port and a clock of its own, so that tests may run in
/// parallel and see the same each time. Content comes over HTTP from this machine, with what is to
/// go wrong by script. One engine works on the library at a time: `launch`, `kill` and `relaunch`
/// are what happens to a service's process. Methods may be called from any thread.
public final class StoreSession: Sendable {
  /// The date that the engine and the store see.
  public let clock: TestClock

  let desk = SellerDesk()
  private let state: Mutex<State>

  private struct State {
    var place: Place
    var engine: RunningEngine?
    var number = 0
  }

  /// A store and where it is served.
  struct Place: Sendable {
    let folder: SessionFolder
    let store: StoreFolder
    let server: StoreServer

    init(now: Date) throws {
      folder = try SessionFolder()
      store = try StoreFolder.create(at: "\(folder.path)/store", now: now)
      server = try StoreServer(folder: "\(folder.path)/store")
      try server.start()
    }
  }

  private struct RunningEngine: Sendable {
    let queue: PaymentQueue
    let power: Power
  }

  /// Makes an empty store; throws file errors.
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

  /// The session's folder, with `store` and `library` in it.
  public var folder: URL { URL(filePath: place.folder.path, directoryHint: .isDirectory) }

  /// The library's folder.
  public var library: URL { folder.appending(path: "library", directoryHint: .isDirectory) }

  /// Where the store is served.
  public var storeURL: String { place.server.url }

  /// Begins anew: no engine, an empty store, an empty library, no script; the clock stays.
  public func reset() throws {
    try kill()
    let place = try Place(now: clock.now)
    desk.change { $0 = SellerScript() }
    let old = state.withLock { state in
      defer { state.place = place }
      return state.place
    }
    old.server.stop()
  }

  // MARK: The engine

  /// What an engine of this session works with; change what you like.
  ///
  /// It is bound to one launch: take another for the next.
  public func configuration() throws -> PaymentQueue.Configuration {
    let place = place
    var configuration = PaymentQueue.Configuration(
      library: library, store: try StoreLocation(place.server.url))
    configuration.trustedRoot = try place.store.initialRoot()
    configuration.network.proxy = .direct
    configuration.network.firstRetryDelay = .milliseconds(10)
    configuration.clock = clock.engineClock
    configuration.seller = { [desk, clock] store in desk.seat(over: store, clock) }
    return configuration
  }

  /// Opens the library, as a service does when it starts; `change` adapts the configuration.
  ///
  /// Throws `usage` while the engine of an earlier launch runs, and what opening throws.
  @discardableResult
  public func launch(_ change: (inout PaymentQueue.Configuration) -> Void = { _ in }) throws
    -> PaymentQueue
  {
    guard state.withLock({ $0.engine == nil }) else {
      throw ContentError(
        .usage, "The session's engine runs already",
        remedy: "Call kill() or relaunch(), or make another session")
    }
    var configuration = try configuration()
    change(&configuration)
    let power = Power()
    configuration.fileSystem = power.fileSystem
    let queue = try PaymentQueue(configuration)
    state.withLock { $0.engine = RunningEngine(queue: queue, power: power) }
    return queue
  }

  /// Ends the engine as a killed process does: from now on nothing of it reaches the disk.
  ///
  /// What it had written stays. Returns when the library is free.
  public func kill() throws {
    let engine = state.withLock { state in
      defer { state.engine = nil }
      return state.engine
    }
    engine?.power.fail()
    engine?.queue.close()
  }

  /// Kills the engine and starts it again on the same library.
  @discardableResult
  public func relaunch(_ change: (inout PaymentQueue.Configuration) -> Void = { _ in }) throws
    -> PaymentQueue
  {
    try kill()
    return try launch(change)
  }

  // MARK: The seller of the running engine

  /// The seller of the engine that was launched last; throws `usage` before the first one.
  func seller() throws -> ScriptedSeller {
    guard let seller = desk.seller else {
      throw ContentError(
        .usage, "No engine has been launched", remedy: "Call launch() before the seller acts")
    }
    return seller
  }

  /// A number that no other call gets.
  func nextNumber() -> Int {
    state.withLock { state in
      state.number += 1
      return state.number
    }
  }
}

/// Whether an engine's writes reach the disk.
final class Power: Sendable {
  private let isOff = Atomic(false)

  func fail() { isOff.store(true, ordering: .sequentiallyConsistent) }

  var fileSystem: FileSystem {
    FileSystem { [self] _, path in
      guard isOff.load(ordering: .sequentiallyConsistent) else { return }
      throw ContentError(
        .fileFailed, "The process was killed before it touched \(path)", remedy: "Relaunch",
        subject: path)
    }
  }
}
