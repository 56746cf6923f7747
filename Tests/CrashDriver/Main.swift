import HostedCrashPoints
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency

/// Runs one operation in a folder and kills itself at one of its steps.
///
/// A step is an operation on files or a system call of SQLite. `HostedCrashDriver OPERATION FOLDER
/// N`: N counts from 1; 0 means never. Prints the number of steps and errors; exits with 1 on an
/// error. `HostedCrashDriver full PHASE FOLDER`, `HostedCrashDriver refuse OPERATION FOLDER` and
/// `HostedCrashDriver without-space TRIAL FOLDER` fill the folder's disk; `HostedCrashDriver crowd
/// FOLDER DISK` fills it with downloads. All print violations. `HostedCrashDriver leave FOLDER
/// MICROSECONDS` closes a queue after that time and exits.
@main
enum CrashDriver {
  private static let steps = Atomic(0)
  /// The step at which it kills itself; 0 means never.
  private static let last = Atomic(0)

  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count == 3 else { throw WrongWords() }
    if words[0] == "leave", let time = UInt32(words[2]) { try leave(World(words[1]), after: time) }
    let problems: [String]
    if words[0] == "full", let phase = FilledDisk.Phase(rawValue: words[1]) {
      problems = try await FilledDisk.interrupt(phase, in: World(words[2]))
    } else if words[0] == "refuse", let operation = CrashOperation(rawValue: words[1]) {
      problems = try await FilledDisk.refuse(operation, in: World(words[2]))
    } else if words[0] == "without-space", let trial = FullLibrary.Trial(rawValue: words[1]) {
      problems = try await FullLibrary.run(trial, in: World(words[2]))
    } else if words[0] == "crowd" {
      problems = try await CrowdedDisk.run(World(words[1]), disk: words[2])
    } else if let operation = CrashOperation(rawValue: words[0]), let last = Int(words[2]) {
      problems = try await run(operation, World(words[1]), killedAt: last)
    } else {
      throw WrongWords()
    }
    for problem in problems { print(problem) }
    exit(problems.isEmpty ? 0 : 1)
  }

  /// Uses the store on several threads of the queue, closes it, and exits at once.
  private static func leave(_ world: World, after microseconds: UInt32) throws -> Never {
    let queue = try world.queue()
    let observer = Observer()
    queue.add(observer)
    for _ in 0..<3 {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: World.own)))
    }
    let request = queue.productsRequest([World.own])
    request.start()
    usleep(microseconds)
    queue.close()
    exit(0)
  }

  private final class Observer: PaymentTransactionObserver {
    func paymentQueue(_ queue: PaymentQueue, updatedTransactions _: [PaymentTransaction]) {}
  }

  private static func run(_ operation: CrashOperation, _ world: World, killedAt last: Int)
    async throws -> [String]
  {
    self.last.store(last, ordering: .relaxed)
    try DatabaseSteps.count()
    let fileSystem = FileSystem(willPerform: { _, _ in step() }, didCommit: { _ in step() })
    let session = try Session(operation, world, fileSystem)
    let failures = await session.attempt()
    session.close()
    print("\(steps.load(ordering: .relaxed)) steps")
    return failures.map { "\($0)" }
  }

  /// Ends this process with SIGKILL if this is the step.
  static func step() {
    if steps.add(1, ordering: .relaxed).newValue == last.load(ordering: .relaxed) {
      kill(getpid(), SIGKILL)
    }
  }

  private struct WrongWords: Error {}
}
