import HostedModel
import HostedFileIO
import Glibc

/// The program: finds the command, runs it, and returns its exit status.
@main
enum Main {
  /// The threads of Swift's pool and of libdispatch that each command needs.
  private static let requiredThreads = 4

  // Not async: if the system allows no more threads, a task would wait forever.
  static func main() {
    StopSignals.block()
    occupyStandardStreams()
    // A closed pipe or terminal must not kill work in progress.
    signal(SIGPIPE, SIG_IGN)
    do {
      try ThreadLimits.require(requiredThreads, for: "hostedcontent")
    } catch {
      Console().report(ContentError(error, while: "starting"))
      _exit(ExitStatus.failed.rawValue)
    }
    // All other work may be ended at any time, like by a crash.
    let signals = StopSignals { error in
      Console().report(error)
      _exit(ExitStatus.interrupted.rawValue)
    }
    Task.detached {
      let status = await run(Array(CommandLine.arguments.dropFirst()), signals)
      // Without exit handlers: OpenSSL's handlers free memory that the thread of an HTTP session
      // may free at the same time while it closes connections. All output was already written.
      _exit(status.rawValue)
    }
    signals.receive()
  }

  /// Opens /dev/null in place of closed standard streams.
  ///
  /// Otherwise, the next opened files would get their numbers, and receive the output. Writing to
  /// them still fails.
  private static func occupyStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // open() returns the lowest free number, which is this one.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  private static func carryOut(_ words: [String], _ console: inout Console) async throws
    -> ExitStatus
  {
    guard let (command, rest) = try CommandTable.find(words, console) else { return .done }
    let arguments = try Arguments(rest, for: command)
    if arguments.has("--help") {
      console.print(document: command.help)
      return .done
    }
    if arguments.has("--version") {
      console.print(CommandTable.versionLine)
      return .done
    }
    console.isQuiet = arguments.has("--quiet")
    console.printsJSON = arguments.has("--json")
    console.arguments = arguments
    return try await command.run(arguments, console)
  }

  static func run(_ words: [String], _ signals: StopSignals) async -> ExitStatus {
    var console = Console()
    console.signals = signals
    var status: ExitStatus
    do {
      status = try console.checked(try await carryOut(words, &console))
    } catch {
      let error = ContentError(error, while: "running the command")
      console.report(error)
      status = error.code == .usage ? .wrongUsage : .failed
    }
    let isInterrupted = status == .failed && signals.hasArrived
    return isInterrupted ? .interrupted : status
  }
}

/// The exit status of the program; Documentation/CommandLine.md has the table.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case failed = 1
  case wrongUsage = 2
  /// Nothing to do, if an option makes that an error.
  case nothingToDo = 3
  /// At least one purchase waits for a decision, and nothing else failed.
  case waiting = 4
  /// The status that a shell reports for a program that SIGINT has ended.
  case interrupted = 130

  /// The meaning, for help and the man page.
  var meaning: String {
    switch self {
    case .done: "success"
    case .failed: "something failed, and each failure is named"
    case .wrongUsage: "invalid usage"
    case .nothingToDo: "nothing to update, with --require-update"
    case .waiting: "a purchase waits for a decision"
    case .interrupted: "interrupted (SIGINT or SIGTERM); servers then end with 0"
    }
  }
}
