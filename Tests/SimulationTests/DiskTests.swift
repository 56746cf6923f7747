import ContentModel
import FileIO
import Simulation
import Testing

/// What a simulated disk keeps through a power failure, and what it may lose.
@Suite("A simulated disk is as honest as a real one")
struct DiskTests {
  /// Every disk that is found after a power failure, of so many drawn.
  private static func crashes(_ disk: SimulatedDisk, count: UInt64 = 200) -> [SimulatedDisk] {
    (1...count).map { disk.crashed(Choices(seed: $0)) }
  }

  private static func bytes(_ disk: SimulatedDisk, _ name: String) -> [UInt8]? {
    try? disk.fileSystem.directory(at: "/").contents(of: name, limit: 1 << 20)
  }

  @Test("A synced file's bytes and its name are durable apart")
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

  @Test("Bytes that were not synced may be there, missing, torn, or zeros")
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

  @Test("A rename is the old or the new, durable once either folder is synced")
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

  @Test("What depends on a lost change is lost with it; what does not may survive it")
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

  /// Takes half of what it is given, at every call.
  private final class Halving: DiskDirector {
    func willCall(_ call: DiskCall, _ path: String) -> DiskFault? {
      call == .write ? .isShort : nil
    }
  }

  @Test("What a call did not write is written by the next ones, buffer for buffer")
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

  @Test("A full disk takes what fits, and then nothing")
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
    #expect(try root.availableBytes() < 5_000, "the open file keeps its room")
  }

  @Test("A removed file's number is given out again, once its removal is durable")
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
