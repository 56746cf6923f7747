import Dispatch
import Glibc

/// Runs the threads of a program one at a time.
///
/// The choices of the schedule determine which.
///
/// These are real threads that pass control to each other. Each runs until its next step, where
/// another one may continue. Each step advances the time a little, and if all threads wait, time
/// jumps to the next timer. The same choices therefore always give the same history.
// Sendable, because only the scheduled thread uses it.
package final class Scheduler: @unchecked Sendable {
  /// A job that waits for its own thread, or for a line.
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
    // Only the scheduled thread uses its variables.
    fileprivate let semaphore = DispatchSemaphore(value: 0)
    fileprivate var job: Job?
    /// The condition that it waits for, or nil if it can continue.
    fileprivate var condition: (() -> Bool)?
    fileprivate var tag: String?

    /// Clears the job before the return, so that a waiting thread retains nothing.
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
  /// The threads that have stopped at a step.
  private var parked: [Strand] = []
  private var jobs: [Job] = []
  private var timers: [Timer] = []
  /// Idle threads, kept for later jobs.
  private var idle: [Strand] = []

  /// The choices of the current schedule.
  var choices: Choices
  /// Another thread continues in one of this many steps.
  ///
  /// 0 means never.
  var switchRate = 0
  /// The simulated time in nanoseconds.
  private(set) var now: UInt64 = 1_000_000_000
  /// Whether the process has ended.
  ///
  /// Then waits return, and threads only unwind.
  private(set) var isDead = false
  /// Whether a thread waited for something that could not happen any more.
  private(set) var isStuck = false
  /// The number of switches between threads.
  private(set) var switches = 0

  /// The duration of a step in nanoseconds.
  private static let stepTime: UInt64 = 100_000

  package init(_ choices: Choices) {
    self.choices = choices
    current = main
  }

  /// Starts another schedule with the threads of the last one.
  ///
  /// Call it on the main thread.
  func reset(_ choices: Choices) {
    self.choices = choices
    switchRate = 0
    now = 1_000_000_000
    switches = 0
    isDead = false
    isStuck = false
  }

  // MARK: Running threads

  /// Marks a step of the running thread, after which another thread may continue.
  func step() {
    guard !isDead else { return }
    now += Self.stepTime
    fireTimers()
    guard choices.happens(.order, oneIn: switchRate) else { return }
    park()
    pass(pick())
  }

  /// Waits until `condition` holds.
  ///
  /// Returns false if it never will, or if the process has ended.
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

  /// A tag for the work of the running thread, until its job ends.
  var currentTag: String? {
    get { current.tag }
    set { current.tag = newValue }
  }

  /// Advances the time to `time` if all threads wait.
  func wake(at time: UInt64) {
    timers.append(Timer(time: time, job: Job(line: nil, body: .call {})))
  }

  // MARK: Simulated interfaces

  func add(_ job: Job) { jobs.append(job) }

  func add(_ job: Job, at time: UInt64) {
    guard !isDead else { return }
    timers.append(Timer(time: time, job: job))
  }

  /// Waits until `line` is free and it is this thread's turn.
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

  // MARK: End of the process

  /// Ends the process at this step.
  ///
  /// All threads unwind before anything else starts.
  func die() {
    isDead = true
    timers = []
    jobs.removeAll { if case .grant = $0.body { true } else { false } }
  }

  /// Lets all threads unwind.
  ///
  /// Call it on the main thread, before a new process starts.
  func unwind() {
    while !parked.isEmpty || !jobs.isEmpty {
      for strand in parked { strand.condition = nil }
      park()
      pass(parked.count == 1 ? .job(0) : .strand(1))
    }
    timers = []
  }

  func revive() { isDead = false }

  /// Whether no thread except the main thread has work.
  ///
  /// The main thread checks it while it waits.
  var isQuiet: Bool {
    jobs.isEmpty && timers.isEmpty && parked.allSatisfy { $0 === main }
  }

  // MARK: Switching threads

  private func fireTimers() {
    guard timers.contains(where: { $0.time <= now }) else { return }
    // Timers with equal times keep their order.
    let due = timers.enumerated().filter { $0.element.time <= now }
      .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
    timers.removeAll { $0.time <= now }
    jobs += due.map(\.element.job)
  }

  /// Stops the running thread at a step.
  ///
  /// It is the first candidate to continue.
  private func park() { parked.insert(current, at: 0) }

  /// Chooses what continues.
  ///
  /// Returns nil if nothing ever can.
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

  /// Passes control from a stopped thread and waits until it gets control back.
  ///
  /// Nil passes control to the main thread.
  private func pass(_ next: Next?) {
    let me = current
    let other = strand(for: next)
    if other === me { return }
    switches += 1
    give(to: other)
    me.semaphore.wait()
  }

  /// Returns the thread that performs `next`, and removes it from its list.
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
      // No thread can continue. The main thread reports that its condition never holds.
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
      preconditionFailure("Cannot start a thread")
    }
    pthread_detach(thread)
    return strand
  }

  /// The body of a thread: runs one job after the other.
  fileprivate static func run(_ strand: Strand, _ start: Start) {
    strand.semaphore.wait()
    while strand.carryOutJob() { start.scheduler.end(strand) }
  }

  /// Passes control after a job, or takes the next job.
  private func end(_ strand: Strand) {
    let next: Next?
    if isDead {
      // The main thread unwinds the threads one after the other.
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
