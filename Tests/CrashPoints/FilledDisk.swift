import HostedModel
import HostedFileIO
import Foundation
import HostedConcurrency

/// Fills the disk during an operation, and frees the space again.
package enum FilledDisk {
  /// The phase of an operation in which the disk becomes full.
  package enum Phase: String, CaseIterable, Sendable {
    case trust, journal, staging, blocks, announcing, switching, grant, targets, metadata, building

    package var operation: CrashOperation {
      switch self {
      case .trust, .journal, .staging, .announcing, .switching: .update
      case .grant, .blocks: .install
      case .targets, .metadata, .building: .publish
      }
    }

    /// Whether the rest may need no space, because of the file system or the journal's log.
    fileprivate var mayPass: Bool { [.announcing, .switching].contains(self) }

    /// Whether the step needs space in this phase.
    fileprivate func begins(_ operation: FileOperation, _ path: String) -> Bool {
      switch self {
      case .trust: operation == .create && path.contains("/trust/")
      case .journal: operation == .journal
      case .staging: operation == .create && path.hasSuffix("Contents/film.bin")
      case .blocks: operation == .write && path.hasSuffix("/package")
      case .announcing: operation == .createDirectory && path.hasSuffix("/products/\(World.own)")
      case .switching: operation == .rename && path.hasSuffix("/\(World.own)/1.1")
      case .grant: operation == .journal && path.hasSuffix("ledger.sqlite")
      case .targets: operation == .create && path.contains("/targets/")
      case .metadata: operation == .create && path.hasSuffix("/metadata/.publication.new")
      case .building: operation == .create && path.hasSuffix("-1.1.pkg.new")
      }
    }
  }

  /// Fills the disk of `world` when `phase` starts, and returns the problems.
  package static func interrupt(_ phase: Phase, in world: World) async throws -> [String] {
    try await phase.operation.prepare(world)
    let filler = Filler(world)
    let hasBegun = Atomic(false)
    let fileSystem = FileSystem { operation, path in
      guard phase.begins(operation, path),
        !hasBegun.exchange(true, ordering: .relaxed)
      else { return }
      filler.fill()
    }
    let (session, failures) = try await attempt(phase.operation, world, fileSystem)
    var problems = failures.flatMap(wrongs)
    if !hasBegun.load(ordering: .relaxed) { problems.append("the phase did not start") }
    if failures.isEmpty, !phase.mayPass { problems.append("no operation failed") }
    problems += try Inspection.afterEnd(of: phase.operation, in: world)
    filler.empty()
    let again = try session ?? Session(phase.operation, world, .real)
    problems += await again.attempt().map { "with free space: \($0)" }
    again.close()
    return try problems + Inspection.afterSuccess(of: phase.operation, in: world)
  }

  /// A library that cannot be opened has no session.
  private static func attempt(
    _ operation: CrashOperation, _ world: World, _ fileSystem: FileSystem
  ) async throws -> (Session?, [ContentError]) {
    do {
      let session = try Session(operation, world, fileSystem)
      return (session, await session.attempt())
    } catch let error as ContentError {
      return (nil, [error])
    }
  }

  /// Leaves space for catalog and journal, but not for the operation, and returns the problems.
  package static func refuse(_ operation: CrashOperation, in world: World) async throws -> [String]
  {
    try await operation.prepare(world)
    let session = try Session(operation, world, .real)
    let filler = Filler(world)
    filler.fill()
    filler.giveBack(3 << 20)
    let failures = await session.attempt()
    var problems = failures.isEmpty ? ["no operation failed"] : failures.flatMap(wrongs)
    // An error that occurred during a write has the system's message as its cause.
    problems += failures.filter { $0.cause != nil }.map { "not refused before writing: \($0)" }
    problems += try Inspection.afterEnd(of: operation, in: world)
    filler.empty()
    problems += await session.attempt().map { "with free space: \($0)" }
    session.close()
    return try problems + Inspection.afterSuccess(of: operation, in: world)
  }

  /// Returns what is missing in an error about disk space.
  private static func wrongs(_ error: ContentError) -> [String] {
    var wrongs: [String] = []
    if error.code != .diskFull { wrongs.append("unexpected error: \(error)") }
    if !error.message.contains(/needs? .*[0-9]+ bytes.*, where [0-9]+ are free/) {
      wrongs.append("without amounts: \(error)")
    }
    if !error.remedy.hasPrefix("Free ") { wrongs.append("without a remedy: \(error)") }
    return wrongs
  }
}

/// A file that takes all free space.
struct Filler: Sendable {
  private let path: String

  init(_ world: World) { self.init(in: world.path) }

  init(in folder: String) { path = "\(folder)/filler" }

  func fill() {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let block = [UInt8](repeating: 1, count: 4096)
    while write(descriptor, block, block.count) > 0 {}
  }

  func giveBack(_ bytes: Int) {
    var status = stat()
    guard stat(path, &status) == 0 else { return }
    truncate(path, status.st_size - bytes)
  }

  func empty() {
    unlink(path)
    // Some file systems give the space back with their next commit only.
    sync()
  }
}
