import Foundation
import HostedSimulation

/// Runs simulated schedules; see Scripts/simulate.
@main
struct Main {
  static func main() throws {
    repeatWithFixedHashing()
    let options = try Options(Array(CommandLine.arguments.dropFirst()))
    exit(options.jobs > 1 ? try runChildren(options) : try run(options))
  }

  /// Sets and dictionaries need a fixed order, so that a seed repeats its history.
  private static func repeatWithFixedHashing() {
    guard getenv("SWIFT_DETERMINISTIC_HASHING") == nil else { return }
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &arguments)
    preconditionFailure("Cannot restart the process")
  }

  private static func run(_ options: Options) throws -> Int32 {
    let simulation = try Simulation()
    var totals = Totals()
    let start = ContinuousClock.now
    for seed in options.seeds {
      let outcome = simulation.run(seed: seed, Trace(options.detail) { print($0) })
      totals.add(outcome.totals)
      if options.showsDigests { print("seed \(seed): \(String(outcome.trace.digest, radix: 16))") }
      guard let violation = outcome.violation else { continue }
      print("Seed \(seed) breaks a rule, schedule \(totals.schedules): \(violation.rule)")
      print("  \(violation.details)")
      if options.shrinks { report(simulation, outcome.choices, violation) }
      print("Again: Scripts/simulate --seed \(seed) --events")
      return 1
    }
    if options.writesJSON {
      print(String(decoding: try JSONEncoder().encode(totals), as: UTF8.self))
    } else {
      report(totals, start.duration(to: .now))
    }
    return 0
  }

  /// Prints the shortest history that breaks the same rule.
  private static func report(
    _ simulation: Simulation, _ choices: [[UInt32]], _ violation: Violation
  ) {
    let shortened = simulation.shrink(choices, rule: violation.rule)
    print("The shortest history:")
    let shortest = simulation.run(shortened, Trace(.events) { print($0) })
    print("  \(shortest.totals.steps) steps, \(shortest.totals.crashes) crashes")
  }

  // MARK: Several processes

  private static func runChildren(_ options: Options) throws -> Int32 {
    let start = ContinuousClock.now
    let share = (options.count + options.jobs - 1) / options.jobs
    var children: [(process: Process, output: Pipe)] = []
    for job in 0..<options.jobs {
      let first = options.first + UInt64(job * share)
      let count = min(share, options.count - job * share)
      guard count > 0 else { break }
      let child = Process()
      child.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      child.arguments = ["--first", "\(first)", "--seeds", "\(count)", "--json"]
      let output = Pipe()
      child.standardOutput = output
      try child.run()
      children.append((child, output))
    }
    var totals = Totals()
    var status: Int32 = 0
    for (child, output) in children {
      let bytes = output.fileHandleForReading.readDataToEndOfFile()
      child.waitUntilExit()
      if child.terminationStatus == 0 {
        totals.add(try JSONDecoder().decode(Totals.self, from: bytes))
      } else {
        print(String(decoding: bytes, as: UTF8.self), terminator: "")
        status = 1
      }
    }
    if status == 0 { report(totals, start.duration(to: .now)) }
    return status
  }

  private static func report(_ totals: Totals, _ time: Duration) {
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    let rate = Double(totals.schedules) / max(seconds, 0.001)
    print(
      "\(totals.schedules) schedules in \(Int(seconds)) s, \(Int(rate)) a second; "
        + "no rule was broken.")
    print(
      "\(totals.steps) steps, \(totals.switches) switches, \(totals.restarts) ends of a process, "
        + "\(totals.crashes) of them crashes, \(totals.powerFailures) of these power failures,")
    print(
      "\(totals.transactions) transactions, \(totals.installs) reports of installed content, "
        + "\(totals.pieces) pieces fetched, \(totals.actions) deeds.")
    print("Faults:")
    for (name, count) in totals.faults.sorted(by: { $0.key < $1.key }) {
      print("  \(name): \(count)")
    }
    print("Deeds:")
    for (name, count) in totals.deeds.sorted(by: { $0.key < $1.key }) {
      print("  \(name): \(count)")
    }
  }
}

/// The command-line options.
struct Options {
  var first: UInt64 = 1
  var count = 1000
  var jobs = 1
  var detail = Trace.Detail.nothing
  var showsDigests = false
  var writesJSON = false
  var shrinks = true

  var seeds: Range<UInt64> { first..<(first + UInt64(count)) }

  struct Mistake: Error, CustomStringConvertible {
    let description: String
  }

  init(_ words: [String]) throws {
    var words = words[...]
    func number(_ word: String) throws -> Int {
      guard let text = words.popFirst(), let number = Int(text), number > 0 else {
        throw Mistake(description: "\(word) needs a number from 1")
      }
      return number
    }
    while let word = words.popFirst() {
      switch word {
      case "--seeds": count = try number(word)
      case "--first": first = UInt64(try number(word))
      case "--seed": (first, count) = (UInt64(try number(word)), 1)
      case "--jobs": jobs = try number(word)
      case "--events": detail = .events
      case "--steps": detail = .steps
      case "--digests": showsDigests = true
      case "--json": writesJSON = true
      case "--no-shrinking": shrinks = false
      default: throw Mistake(description: "Unknown option \(word)")
      }
    }
  }
}
