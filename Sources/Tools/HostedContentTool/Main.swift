import ContentModel
import Dispatch
import FileIO
import Glibc

/// The program: finds the command, runs it, and turns its end into an exit status.
@main
enum Main {
  /// Threads of Swift's pool and of libdispatch that each command needs.
  private static let requiredThreads = 4

  // Not asynchronous: a task would wait for ever for a thread that the system does not give.
  static func main() {
    occupyStandardStreams()
    // A reader that goes away (head, a closed terminal) must not kill what is under way.
    signal(SIGPIPE, SIG_IGN)
    do {
      try ThreadLimits.require(requiredThreads, for: "hostedcontent")
    } catch {
      Console().report(ContentError(error, while: "starting"))
      _exit(ExitStatus.failed.rawValue)
    }
    Task {
      let status = await run(Array(CommandLine.arguments.dropFirst()))
      // Without exit handlers: OpenSSL's free what the thread of an HTTP session, which may be
      // closing its connections just then, frees too. Everything was written already.
      _exit(status.rawValue)
    }
    dispatchMain()
  }

  /// Puts something in the place of standard streams that are closed.
  ///
  /// The files that are opened next would get their numbers, and with them what is printed. To
  /// write there still fails.
  private static func occupyStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest number that is free is this one.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Lets a signal end the process, unless the command that runs has more to do then: whatever else
  /// a command does can be ended at any time, as by a crash.
  private static func catchSignals(_ console: inout Console) {
    let output = console
    console.signals = StopSignals { error in
      output.report(error)
      _exit(ExitStatus.interrupted.rawValue)
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
    console.command = command
    return try await command.run(arguments, console)
  }

  static func run(_ words: [String]) async -> ExitStatus {
    var console = Console()
    catchSignals(&console)
    var status: ExitStatus
    do {
      status = try console.checked(try await carryOut(words, &console))
    } catch {
      let error = ContentError(error, while: "running the command")
      console.report(error)
      status = error.code == .usage ? .wrongUsage : .failed
    }
    let isInterrupted = status == .failed && console.signals?.hasCome == true
    return isInterrupted ? .interrupted : status
  }
}

/// What the program tells its caller; Documentation/CommandLine.md has the table.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case failed = 1
  case wrongUsage = 2
  /// Nothing to do, where that was asked to be an error.
  case nothingToDo = 3
  /// As a shell reports a program that SIGINT has ended.
  case interrupted = 130

  /// What it means, for help and the man page.
  var meaning: String {
    switch self {
    case .done: "success"
    case .failed: "something failed, and each failure is named"
    case .wrongUsage: "invalid usage"
    case .nothingToDo: "nothing to update, with --require-update"
    case .interrupted: "interrupted (SIGINT or SIGTERM); serve then ends with 0"
    }
  }
}
