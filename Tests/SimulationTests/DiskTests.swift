import HostedModel
import HostedFileIO
import HostedSimulation
import Testing

/// What a simulated disk keeps after a power failure, and what it may lose.
@Suite("Durability of a simulated disk")
struct DiskTests {
  /// Returns the disks after `count` random power failures.
  private static func crashes(_ disk: SimulatedDisk, count: UInt64 = 200) -> [SimulatedDisk] {
    (1...count).map { disk.crashed(Choices(seed: $0)) }
  }

  private static func bytes(_ disk: SimulatedDisk, _ name: String) -> [UInt8]? {
    try? disk.fileSystem.directory(at: "/").contents(of: name, limit: 1 << 20)
  }

  @Test("A file's bytes and its name become durable separately")
  func fileAndName() throws {
    let disk = SimulatedDisk()
    let root = try disk.fileSystem.directory(at: "/")
    let file = try root.createFile("a")
    try file.write([1, 2, 3])
    try file.sync()
    #expect(Set(Self.crashes(disk).map { Self.bytes($0, "a") }) == [nil, [1, 2, 3]])
    try root.sync()
    #expect(Set(Self.crashes(disk).map { Self.bytes($0, "a") }) == [[1, 2, 3]])
  }

  @Test("Bytes that were not synced may be complete, missing, torn or zero")
  func torn() throws {
    let disk = SimulatedDisk()
    let root = try disk.fileSystem.directory(at: "/")
    let file = try root.createFile("a")
    try root.sync()
    try file.write([UInt8](repeating: 7, count: 10_000))
    let found = Self.crashes(disk).map { Self.bytes($0, "a") ?? [] }
    #expect(found.contains([]))
    #expect(found.contains([UInt8](repeating: 7, count: 10_000)))
    #expect(found.contains { !$0.isEmpty && $0.count < 10_000 && !$0.contains(0) })
    #expect(found.contains { $0.count == 10_000 && $0.contains(0) && $0.contains(7) })
  }

  @Test("A rename is atomic, and durable after a sync of either folder")
  func rename() throws {
    let disk = SimulatedDisk()
    let root = try disk.fileSystem.directory(at: "/")
    let (from, to) = (try root.createDirectory("from"), try root.createDirectory("to"))
    try from.createFile("a").write([1])
    try root.syncFileSystem()
    try from.rename("a", to: to, "b")
    func places(_ disk: SimulatedDisk) throws -> [Bool] {
      let root = try disk.fileSystem.directory(at: "/")
      return try [
        root.directory("from").status(of: "a") != nil, root.directory("to").status(of: "b") != nil,
      ]
    }
    #expect(Set(try Self.crashes(disk).map(places)) == [[true, false], [false, true]])
    try to.sync()
    #expect(Set(try Self.crashes(disk).map(places)) == [[false, true]])
  }

  @Test("Changes that depend on a lost change are lost, others may survive")
  func order() throws {
    let disk = SimulatedDisk()
    let root = try disk.fileSystem.directory(at: "/")
    _ = try root.createFile("a")
    try root.rename("a", to: root, "b")
    _ = try root.createFile("c")
    let found = try Self.crashes(disk).map { disk in
      Set(try disk.fileSystem.directory(at: "/").entries().map(\.name))
    }
    #expect(Set(found) == [[], ["a"], ["b"], ["c"], ["a", "c"], ["b", "c"]])
  }

  /// Writes half of the bytes in each call.
  private final class Halving: DiskDirector {
    func willCall(_ call: DiskCall, _ path: String) -> DiskFault? {
      call == .write ? .isShort : nil
    }
  }

  @Test("Bytes that a call did not write are written by the next calls")
  func halves() throws {
    let disk = SimulatedDisk()
    let halving = Halving()
    disk.director = halving
    let root = try disk.fileSystem.directory(at: "/")
    let bytes = [UInt8](0..<200)
    try bytes.withUnsafeBytes { all in
      let buffers = [0..<1, 1..<120, 120..<120, 120..<121, 121..<200].map {
        UnsafeRawBufferPointer(rebasing: all[$0])
      }
      try root.createFile("a").write(buffers, at: 2)
    }
    #expect(Self.bytes(disk, "a") == [0, 0] + bytes)
  }

  @Test("A full disk writes what fits, and then fails")
  func full() throws {
    let disk = SimulatedDisk(capacity: 20_000)
    let root = try disk.fileSystem.directory(at: "/")
    let file = try root.createFile("a")
    #expect { try file.write([UInt8](repeating: 1, count: 30_000)) } throws: {
      "\($0)".contains("No space left")
    }
    let size = try file.status().size
    #expect(size > 15_000 && size < 20_000)
    try root.removeFile("a")
    #expect(try root.availableBytes() < 5_000, "the open file keeps its space")
  }

  @Test("An inode number is reused after the removal of its file is durable")
  func numbers() throws {
    let disk = SimulatedDisk()
    let root = try disk.fileSystem.directory(at: "/")
    _ = try root.createFile("a")
    try root.sync()
    let number = try #require(try root.status(of: "a")).identity.inode
    try root.removeFile("a")
    _ = try root.createFile("b")
    #expect(try root.status(of: "b")?.identity.inode != number)
    try root.sync()
    _ = try root.createFile("c")
    #expect(try root.status(of: "c")?.identity.inode == number)
  }
}
