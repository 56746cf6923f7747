import HostedCrashPoints
import HostedTestSupport
import HostedTestTraits
import Testing

/// A real, full file system of a few megabytes, in a separate process.
///
/// Needs user namespaces for mounting; without them, the reason is printed.
@Suite(
  "A full disk",
  .enabled(if: SmallDisk.obstacle == nil, "\(SmallDisk.obstacle ?? "")"), .timeLimit(.hang))
struct FullDiskTests {
  @Test(.slow, arguments: FilledDisk.Phase.allCases)
  func `in any phase it is an error with the amounts, and with free space the work continues`(
    phase: FilledDisk.Phase
  ) async throws {
    try await Self.run("full", phase.rawValue)
  }

  @Test(.slow, arguments: [CrashOperation.install, .update, .repair, .publish])
  func `content that does not fit is refused before anything is written`(operation: CrashOperation)
    async throws
  {
    try await Self.run("refuse", operation.rawValue)
  }

  @Test(.slow, arguments: FullLibrary.Trial.allCases)
  func `without free space a library opens, and removed content frees space`(
    trial: FullLibrary.Trial
  ) async throws {
    try await Self.run("without-space", trial.rawValue)
  }

  @Test(.slow)
  func `downloads that do not fit together fail before they fetch, and others do not fail`()
    async throws
  {
    let world = try TemporaryFolder()
    try await Self.run("crowd", world.path, bytes: 14_000_000)
  }

  private static let btrfsBytes = 200 << 20
  private static let btrfsObstacle = SmallDisk.obstacle(to: .btrfs, bytes: btrfsBytes)

  /// With copy-on-write a full disk would end the process with SIGBUS, in SQLite's shared memory.
  @Test(
    .slow, .enabled(if: Self.btrfsObstacle == nil, "\(Self.btrfsObstacle ?? "")"),
    arguments: [FilledDisk.Phase.journal, .announcing, .grant])
  func `on btrfs it is an error as well`(phase: FilledDisk.Phase) async throws {
    try await Self.run("full", phase.rawValue, on: .btrfs, bytes: Self.btrfsBytes)
  }

  private static func run(
    _ words: String..., on kind: SmallDisk.Kind = .tmpfs, bytes: Int = 24 << 20
  ) async throws {
    let end = try await onOwnThread {
      let folder = try TemporaryFolder()
      return try SmallDisk.run(
        Program.path("HostedCrashDriver"), words + [folder.path], on: kind, bytes: bytes,
        at: folder.path)
    }
    #expect(end.status == 0 && !end.wasKilled, "\(end.output)")
  }
}
