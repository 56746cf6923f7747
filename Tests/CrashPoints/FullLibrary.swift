import HostedModel
import HostedDigests
import HostedFileIO
import Foundation
import HostedContent

/// The operations that must work in a library on a disk without free space.
package enum FullLibrary {
  /// When the disk becomes full.
  package enum Trial: String, CaseIterable, Sendable {
    /// While a queue is open, which then removes one version after the other.
    case remove
    /// While a queue is open, which then collects.
    case collect
    /// While no queue is open.
    case open
    /// After a process was killed during the deletion of a version.
    case resume
  }

  /// Fills the disk of `world`, and removes versions, and returns the problems.
  package static func run(_ trial: Trial, in world: World) async throws -> [String] {
    try await CrashOperation.collect.prepare(world)
    return switch trial {
    case .remove: try remove(in: world)
    case .collect: try collect(world, { try world.queue() }, { $0 })
    case .open: try collect(world, {}, { try world.queue() })
    case .resume: try resume(in: world)
    }
  }

  private static func remove(in world: World) throws -> [String] {
    let filler = Filler(world)
    let content = try ProductIdentifier(validating: World.own)
    let queue = try world.queue()
    defer { queue.close() }
    var problems: [String] = []
    var left = ["1.0", "1.1", "1.2", "1.3"]
    for version in ["1.1", "1.3", "1.2", "1.0"] {
      filler.fill()
      try queue.remove(content, version: ContentVersion(validating: version))
      left.removeAll { $0 == version }
      problems += try expect(left, in: world).map { "without \(version): \($0)" }
      problems += try expectSpace(in: world).map { "without \(version): \($0)" }
    }
    // Removed versions stay removed, even if the journal could not be written any more.
    queue.close()
    filler.fill()
    try world.queue().close()
    return try problems + expect([], in: world)
  }

  /// Collects in a queue that is opened before or after the disk becomes full.
  private static func collect<Opened>(
    _ world: World, _ before: () throws -> Opened, _ after: (Opened) throws -> PaymentQueue
  ) throws -> [String] {
    let filler = Filler(world)
    let opened = try before()
    filler.fill()
    let queue = try after(opened)
    defer { queue.close() }
    let report = try queue.collect()
    var problems = report.failures.map { "not collected: \($0)" }
    let removed = report.removed.map(\.version.rawValue).sorted()
    if removed != ["1.1", "1.2"] { problems.append("collected \(removed)") }
    problems += try expect(["1.0", "1.3"], in: world)
    return try problems + expectSpace(in: world)
  }

  private static func resume(in world: World) throws -> [String] {
    let filler = Filler(world)
    let library = try FileSystem.real.directory(at: world.libraryPath())
    let home = try library.directory("products").directory(World.own)
    let inode = try home.directory("1.1").status().identity.inode
    let digest = try Digest(of: Array("\(World.own)/1.1".utf8))
    try home.rename("1.1", to: library.directory("staging"), "removed-\(digest)-\(inode)")
    try library.removeFile("journal.reserve")
    try library.removeFile("journal.sqlite-shm")
    filler.fill()
    try world.queue().close()
    return try expect(["1.0", "1.2", "1.3"], in: world) + expectSpace(in: world)
  }

  /// Returns the problems unless these versions are installed, and the newest is current.
  private static func expect(_ versions: [String], in world: World) throws -> [String] {
    var problems: [String] = []
    let entries = try world.reader().contents()
    let listed = entries.map(\.content.version.rawValue)
    if listed != versions { problems.append("listed versions: \(listed)") }
    let current = entries.filter(\.isCurrent).map(\.content.version.rawValue)
    if current != versions.suffix(1) { problems.append("current version: \(current)") }
    let home = "\(world.libraryPath())/products/\(World.own)"
    let names = try FileManager.default.contentsOfDirectory(atPath: home).sorted()
    if names != versions + (versions.isEmpty ? [] : ["current"]) {
      problems.append("folders: \(names)")
    }
    for entry in entries {
      let damage = try world.reader().verify(entry.content)
      if !damage.isEmpty { problems.append("\(entry.content.version) is damaged: \(damage)") }
    }
    let staged = try FileManager.default.contentsOfDirectory(
      atPath: "\(world.libraryPath())/staging")
    if staged != ["CACHEDIR.TAG"] { problems.append("staging contains \(staged)") }
    return problems
  }

  /// Returns a problem if there is less free space than a version needs.
  private static func expectSpace(in world: World) throws -> [String] {
    let free = try FileSystem.real.directory(at: world.path).availableBytes()
    return free < 250_000 ? ["only \(free) bytes are free"] : []
  }
}
