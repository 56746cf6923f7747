import Dispatch
import Glibc

/// Runs a program's threads one at a time; the schedule's choices say which.
///
/// Real threads that hand a baton on: each runs until it reaches a step, where another one may go
/// on instead. Time passes a little with each step, and jumps when everybody waits for it. So
/// whoever makes the same choices sees the same history.
// Sendable, because only the thread that has the baton touches anything here.
package final class Scheduler: @unchecked Sendable {
  /// Something that waits to be run by a thread of its own, or of a line.
  struct Job {
    let line: SimulatedLine?
    let body: Body

    enum Body {
      case call(() -> Void)
      /// A thread that waits for the line.
      case grant(Strand)
    }
  }

  /// A thread.
  final class Strand: @unchecked Sendable {
    // Only whoever has the baton touches its variables.
    fileprivate let semaphore = DispatchSemaphore(value: 0)
    fileprivate var job: Job?
    /// What it waits for; nil when it can go on.
    fileprivate var condition: (() -> Bool)?
    fileprivate var tag: String?

    /// Forgets the job before it returns, so that a thread that waits keeps nothing alive.
    fileprivate func carryOutJob() -> Bool {
      guard let job else { return false }
      self.job = nil
      tag = nil
      if case .call(let body) = job.body { body() }
      job.line?.isBusy = false
      return true
    }
  }

  private struct Timer {
    let time: UInt64
    let job: Job
  }

  private enum Next {
    case strand(Int)
    case job(Int)
  }

  private let main = Strand()
  private var current: Strand
  /// Threads that stand at a step.
  private var parked: [Strand] = []
  private var jobs: [Job] = []
  private var timers: [Timer] = []
  /// Threads without work, kept for the next.
  private var idle: [Strand] = []

  /// The choices of the schedule that runs.
  var choices: Choices
  /// At one step in so many another thread goes on; 0 for never.
  var switchRate = 0
  /// Nanoseconds since some instant.
  private(set) var now: UInt64 = 1_000_000_000
  /// Whether the process has ended: nobody waits, and threads only unwind.
  private(set) var isDead = false
  /// Whether a thread waited for what nobody could bring.
  private(set) var isStuck = false
  /// Switches from one thread to another.
  private(set) var switches = 0

  /// Nanoseconds that a step takes.
  private static let stepTime: UInt64 = 100_000

  package init(_ choices: Choices) {
    self.choices = choices
    current = main
  }

  /// Begins another schedule with the threads of the last one; on the main thread.
  func reset(_ choices: Choices) {
    self.choices = choices
    switchRate = 0
    now = 1_000_000_000
    switches = 0
    isDead = false
    isStuck = false
  }

  // MARK: For the threads that run

  /// A step of the thread that runs, after which another one may go on.
  func step() {
    guard !isDead else { return }
    now += Self.stepTime
    fireTimers()
    guard choices.happens(.order, oneIn: switchRate) else { return }
    park()
    pass(pick())
  }

  /// Waits until `condition` holds; false when it never will, or the process has ended.
  @discardableResult
  func wait(until condition: @escaping () -> Bool) -> Bool {
    guard !isDead else { return false }
    if condition() { return true }
    let me = current
    me.condition = condition
    park()
    pass(pick())
    me.condition = nil
    return !isDead && condition()
  }

  /// Waits for `seconds` of simulated time.
  func sleep(_ seconds: Double) {
    let time = now + UInt64(seconds * 1e9)
    var isOver = false
    timers.append(Timer(time: time, job: Job(line: nil, body: .call { isOver = true })))
    wait { isOver }
  }

  /// A word about what the thread that runs does, until its job ends.
  var currentTag: String? {
    get { current.tag }
    set { current.tag = newValue }
  }

  /// Lets time reach `time` if everybody waits.
  func wake(at time: UInt64) {
    timers.append(Timer(time: time, job: Job(line: nil, body: .call {})))
  }

  // MARK: For the seams

  func add(_ job: Job) { jobs.append(job) }

  func add(_ job: Job, at time: UInt64) {
    guard !isDead else { return }
    timers.append(Timer(time: time, job: job))
  }

  /// Waits until `line` is free and it is this thread's turn on it.
  func takeTurn(on line: SimulatedLine) {
    guard !isDead else { return }
    let me = current
    var isGranted = false
    me.condition = { isGranted }
    line.grants.append { isGranted = true }
    jobs.append(Job(line: line, body: .grant(me)))
    park()
    pass(pick())
    me.condition = nil
  }

  // MARK: The process's end

  /// Ends the process at this step: every thread unwinds before anything else is begun.
  func die() {
    isDead = true
    timers = []
    jobs.removeAll { if case .grant = $0.body { true } else { false } }
  }

  /// Lets all threads unwind, on the main thread, before a new process may begin.
  func unwind() {
    while !parked.isEmpty || !jobs.isEmpty {
      for strand in parked { strand.condition = nil }
      park()
      pass(parked.count == 1 ? .job(0) : .strand(1))
    }
    timers = []
  }

  func revive() { isDead = false }

  /// Whether nothing is under way but the main thread, which asks while it waits.
  var isQuiet: Bool {
    jobs.isEmpty && timers.isEmpty && parked.allSatisfy { $0 === main }
  }

  // MARK: Handing the baton on

  private func fireTimers() {
    guard timers.contains(where: { $0.time <= now }) else { return }
    // A stable order for equal times: as they were asked for.
    let due = timers.enumerated().filter { $0.element.time <= now }
      .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
    timers.removeAll { $0.time <= now }
    jobs += due.map(\.element.job)
  }

  /// The thread that runs stands at a step; it comes first among those that can go on.
  private func park() { parked.insert(current, at: 0) }

  /// Who goes on; nil when nobody ever can.
  private func pick() -> Next? {
    while true {
      var candidates: [Next] = []
      for (number, strand) in parked.enumerated() where strand.condition?() ?? true {
        candidates.append(.strand(number))
      }
      var lines: [SimulatedLine] = []
      for (number, job) in jobs.enumerated() {
        if let line = job.line {
          if line.isBusy || lines.contains(where: { $0 === line }) { continue }
          lines.append(line)
        }
        candidates.append(.job(number))
      }
      if !candidates.isEmpty { return candidates[choices.pick(.order, candidates.count)] }
      guard let time = timers.map(\.time).min() else { return nil }
      now = max(now, time)
      fireTimers()
    }
  }

  /// Hands the baton of a parked thread on and waits until it comes back; nil gives it to the main
  /// thread.
  private func pass(_ next: Next?) {
    let me = current
    let other = strand(for: next)
    if other === me { return }
    switches += 1
    give(to: other)
    me.semaphore.wait()
  }

  /// The thread that carries out `next`, taken from where it stands.
  private func strand(for next: Next?) -> Strand {
    switch next {
    case .strand(let number): return parked.remove(at: number)
    case .job(let number):
      let job = jobs.remove(at: number)
      job.line?.isBusy = !isDead
      switch job.body {
      case .call:
        let strand = idle.popLast() ?? begin()
        strand.job = job
        return strand
      case .grant(let strand):
        if let line = job.line, !line.grants.isEmpty { line.grants.removeFirst()() }
        parked.removeAll { $0 === strand }
        return strand
      }
    case nil:
      isStuck = isStuck || !isDead
      // Nobody can go on: the main thread finds that what it waits for does not come.
      parked.removeAll { $0 === main }
      return main
    }
  }

  private func give(to strand: Strand) {
    current = strand
    strand.semaphore.signal()
  }

  private func begin() -> Strand {
    let strand = Strand()
    let start = Unmanaged.passRetained(Start(scheduler: self, strand: strand))
    var thread = pthread_t()
    guard pthread_create(&thread, nil, runStrand, start.toOpaque()) == 0 else {
      preconditionFailure("No thread can be started")
    }
    pthread_detach(thread)
    return strand
  }

  /// What a thread does: one job after the other.
  fileprivate static func run(_ strand: Strand, _ start: Start) {
    strand.semaphore.wait()
    while strand.carryOutJob() { start.scheduler.end(strand) }
  }

  /// Hands the baton on after a job, or takes the next job itself.
  private func end(_ strand: Strand) {
    let next: Next?
    if isDead {
      // Unwound one after the other, by the main thread.
      next = nil
    } else {
      now += Self.stepTime
      fireTimers()
      next = pick()
    }
    idle.append(strand)
    let other = self.strand(for: next)
    guard other !== strand else { return }
    give(to: other)
    strand.semaphore.wait()
  }

  fileprivate final class Start: Sendable {
    let scheduler: Scheduler
    let strand: Strand

    init(scheduler: Scheduler, strand: Strand) {
      self.scheduler = scheduler
      self.strand = strand
    }
  }
}

private func runStrand(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let start = Unmanaged<Scheduler.Start>.fromOpaque(context).takeRetainedValue()
  Scheduler.run(start.strand, start)
  return nil
}
