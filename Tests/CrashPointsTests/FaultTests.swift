import HostedModel
import HostedCrashPoints
import HostedFileIO
import Glibc
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// The n-th operation on the file system or the journal fails once, for every n.
///
/// Tests every n with each error in complete campaigns, otherwise a sample; a failure names the
/// step.
@Suite("Every step of every operation may fail", .timeLimit(.minutes(60)))
struct FaultTests {
  private static let codes: [Int32: ContentError.Code] = [
    EIO: .fileFailed, ENOSPC: .diskFull, EMFILE: .tooManyFiles,
  ]

  @Test(.slow, arguments: SlowTests.part(of: CrashOperation.allCases))
  func `a step that fails affects at most its own product, and the same process continues`(
    operation: CrashOperation
  ) async throws {
    let template = try World()
    try await operation.prepare(template)
    for number in [EIO, ENOSPC, EMFILE] {
      for n in SlowTests.steps(everyOf: 24) {
        try Task.checkCancellation()
        let plan = FaultPlan(failing: n, as: number)
        try await Self.disturb(
          operation, template.copy(), plan.fileSystem, code: Self.codes[number], n)
        guard plan.hasFired else {
          print("failing steps: \(operation) at most \(n - 1), errno \(number), all survived")
          break
        }
      }
    }
  }

  private static func disturb(
    _ operation: CrashOperation, _ world: World, _ fileSystem: FileSystem,
    code: ContentError.Code?, _ n: Int
  ) async throws {
    let place = "\(operation) step \(n)"
    let session: Session
    do {
      session = try Session(operation, world, fileSystem)
    } catch let error as ContentError {
      #expect(error.code == code, "\(place): \(error)")
      session = try Session(operation, world, fileSystem)
    }
    let failures = await session.attempt()
    // A failed sync affects everything being written.
    let isShared = failures.allSatisfy { $0.message.lowercased().contains("sync") }
    #expect(failures.count <= 1 || isShared, "\(place): \(failures)")
    for failure in failures { #expect(failure.code == code, "\(place): \(failure)") }
    expect(try Inspection.afterEnd(of: operation, in: world), place)
    if !failures.isEmpty {
      let later = await session.attempt()
      #expect(later.isEmpty, "\(place): \(later)")
    }
    session.close()
    // The next start removes leftovers.
    expect(try Inspection.afterRestart(of: operation, in: world), place)
    expect(try Inspection.afterSuccess(of: operation, in: world), place)
  }

  private static func expect(_ problems: [String], _ place: String) {
    for problem in problems { Issue.record("\(place): \(problem)") }
  }

  @Test(.slow, arguments: SlowTests.part(of: CrashOperation.allCases))
  func `interrupting every system call has no effect`(operation: CrashOperation)
    async throws
  {
    let world = try World()
    try await operation.prepare(world)
    let interruptions = Interruptions()
    let session = try Session(operation, world, interruptions.fileSystem)
    let failures = await session.attempt()
    session.close()
    #expect(failures.isEmpty)
    Self.expect(try Inspection.afterSuccess(of: operation, in: world), "\(operation)")
    print("interrupted steps: \(operation.rawValue) \(interruptions.count), all survived")
  }
}
