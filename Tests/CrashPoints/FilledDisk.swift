import ContentModel
import FileIO
import Foundation
import Concurrency

/// Makes the disk full in the middle of an operation, and gives the room back.
package enum FilledDisk {
  /// Where in an operation the disk becomes full.
  package enum Phase: String, CaseIterable, Sendable {
    case trust, journal, staging, blocks, announcing, switching, grant, targets, metadata, building

    package var operation: CrashOperation {
      switch self {
      case .trust, .journal, .staging, .announcing, .switching: .update
      case .grant, .blocks: .install
      case .targets, .metadata, .building: .publish
      }
    }

    /// Whether no space may be needed from there on: by some file systems, and by the journal's
    /// log.
    fileprivate var mayPass: Bool { [.announcing, .switching].contains(self) }

    /// Whether the step is one that needs room in this phase.
    fileprivate func begins(_ operation: FileOperation, _ path: String) -> Bool {
      switch self {
      case .trust: operation == .create && path.contains("/trust/")
      case .journal: operation == .journal
      case .staging: operation == .create && path.hasSuffix("Contents/film.bin")
      case .blocks: operation == .write && path.hasSuffix("/package")
      case .announcing: operation == .createDirectory && path.hasSuffix("/products/\(World.own)")
      case .switching: operation == .rename && path.hasSuffix("/\(World.own)/1.1")
      case .grant: operation == .journal && path.hasSuffix("grants.sqlite")
      case .targets: operation == .create && path.contains("/targets/")
      case .metadata: operation == .create && path.hasSuffix("/metadata/.publication.new")
      case .building: operation == .create && path.hasSuffix("-1.1.pkg.new")
      }
    }
  }

  /// Fills the disk at `world` once `phase` begins, and says what was not as it must be.
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
    if !hasBegun.load(ordering: .relaxed) { problems.append("the phase never began") }
    if failures.isEmpty, !phase.mayPass { problems.append("nothing failed") }
    problems += try Inspection.afterEnd(of: phase.operation, in: world)
    filler.empty()
    let again = try session ?? Session(phase.operation, world, .real)
    problems += await again.attempt().map { "with room: \($0)" }
    again.close()
    return try problems + Inspection.afterSuccess(of: phase.operation, in: world)
  }

  /// A library that cannot even be opened has no session.
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

  /// Leaves room for catalog and journal but not for what is asked for; says what is not right.
  package static func refuse(_ operation: CrashOperation, in world: World) async throws -> [String]
  {
    try await operation.prepare(world)
    let session = try Session(operation, world, .real)
    let filler = Filler(world)
    filler.fill()
    filler.giveBack(3 << 20)
    let failures = await session.attempt()
    var problems = failures.isEmpty ? ["nothing failed"] : failures.flatMap(wrongs)
    // An error that was found while something was written has its words as the cause.
    problems += failures.filter { $0.cause != nil }.map { "not refused before: \($0)" }
    problems += try Inspection.afterEnd(of: operation, in: world)
    filler.empty()
    problems += await session.attempt().map { "with room: \($0)" }
    session.close()
    return try problems + Inspection.afterSuccess(of: operation, in: world)
  }

  /// What an error for want of room must say and does not.
  private static func wrongs(_ error: ContentError) -> [String] {
    var wrongs: [String] = []
    if error.code != .diskFull { wrongs.append("another error: \(error)") }
    if !error.message.contains(/needs? .*[0-9]+ bytes.*, where [0-9]+ are free/) {
      wrongs.append("without amounts: \(error)")
    }
    if !error.remedy.hasPrefix("Free ") { wrongs.append("without a remedy: \(error)") }
    return wrongs
  }
}

/// A file that takes all room there is.
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
