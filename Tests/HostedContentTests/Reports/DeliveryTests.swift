import HostedModel
import Dispatch
import HostedConcurrency
import Testing

@testable import HostedContent

/// The times of reports to observers, with a simulated clock.
@Suite("Times of reports")
final class DeliveryTests {
  /// A serial queue that records scheduled times and runs when the test tells it to.
  private final class Line: SerialLine {
    private let state = Mutex(State())

    private struct State {
      var now = DispatchTime(uptimeNanoseconds: 1_000_000_000)
      var bodies: [(due: DispatchTime, body: @Sendable () -> Void)] = []
      /// What another thread does when a body is scheduled, once.
      var interruption: (@Sendable () -> Void)?
    }

    var now: DispatchTime { state.withLock { $0.now } }

    /// Milliseconds from now until each scheduled time.
    var due: [Int] {
      state.withLock { state in
        state.bodies.map {
          Int(($0.due.uptimeNanoseconds - state.now.uptimeNanoseconds) / 1_000_000)
        }
      }
    }

    /// Advances the clock and runs what is due.
    func pass(_ time: DispatchTimeInterval) {
      let going = state.withLock { state in
        state.now = state.now + time
        let now = state.now
        defer { state.bodies.removeAll { $0.due <= now } }
        return state.bodies.filter { $0.due <= now }
      }
      for entry in going { entry.body() }
    }

    /// Drops pending work and the objects it retains.
    func forget() { state.withLock { $0.bodies = [] } }

    func enqueue(_ body: @escaping @Sendable () -> Void) { enqueue(at: now, body) }

    func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
      let interruption = state.withLock { state in
        state.bodies.append((time, body))
        defer { state.interruption = nil }
        return state.interruption
      }
      interruption?()
    }

    func interrupt(_ body: @escaping @Sendable () -> Void) {
      state.withLock { $0.interruption = body }
    }

    func sync<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
  }

  private let line = Line()
  private let delivery: Delivery

  init() {
    let line = line
    delivery = Delivery(
      on: line, now: { line.now },
      library: ReportLibrary(productsPath: "/products", journal: NoJournal()), transactions: [])
  }

  deinit { line.forget() }

  private func reportState(of id: TransactionID) throws {
    let record = TransactionRecord(
      id: id, sequence: 1, payment: Payment(productIdentifier: "a"), status: .purchasing)
    delivery.report(downloads: [DownloadID(of: id, number: 1)], of: [record])
  }

  private func reportProgress(of id: TransactionID) {
    delivery.report(progress: [
      DownloadID(of: id, number: 1): DownloadProgress(fraction: 0.5, timeRemaining: 1)
    ])
  }

  /// Reports as many states as a burst allows, then advances a millisecond.
  private func spendWhatGoesAtOnce() throws {
    for number in 1...CallPace.atOnce {
      try reportState(of: TransactionID(rawValue: "early-\(number)"))
      line.pass(.nanoseconds(0))
      #expect(line.due.isEmpty)
    }
    line.pass(.milliseconds(1))
  }

  @Test("Calls that wait for the launch are made before one that comes during the launch")
  func waitingCalls() {
    let delivery = delivery
    let calls = Mutex<[Int]>([])
    let call: @Sendable (Int) -> Void = { number in
      delivery.deliverAfterLaunch { calls.withLock { $0.append(number) } }
    }
    call(1)
    call(2)
    line.interrupt { call(3) }
    delivery.report(everything: [])
    line.pass(.nanoseconds(0))
    #expect(calls.withLock { $0 } == [1, 2, 3])
    call(4)
    line.pass(.nanoseconds(0))
    #expect(calls.withLock { $0 } == [1, 2, 3, 4])
  }

  @Test("All states of one download are reported at once, even its end after its progress")
  func oneDownload() throws {
    try reportState(of: "t")
    line.pass(.milliseconds(1))
    reportProgress(of: "t")
    line.pass(.milliseconds(1))
    try reportState(of: "t")
    #expect(line.due == [0])
  }

  @Test("States of many downloads share a call after a burst of one download's states")
  func states() throws {
    try spendWhatGoesAtOnce()
    try reportState(of: "t")
    #expect(line.due == [19])
    line.pass(.milliseconds(5))
    try reportState(of: "u")
    #expect(line.due == [14])
    line.pass(.milliseconds(14))
    #expect(line.due.isEmpty)
    // One more call per pause.
    try reportState(of: "v")
    #expect(line.due == [20])
  }

  @Test("Progress is delayed like states, and other reports are not")
  func progress() throws {
    try spendWhatGoesAtOnce()
    reportProgress(of: "t")
    #expect(line.due == [19])
    delivery.deliver {}
    #expect(line.due.min() == 0)
  }

  @Test("After any number of urgent calls, the next waits for one pause")
  func forced() {
    var pace = CallPace()
    let now = line.now
    for _ in 1...500 { pace.note(at: now) }
    #expect(pace.next(at: now) == now + .milliseconds(20))
    #expect(pace.next(at: now + .milliseconds(50)) == now + .milliseconds(50))
  }
}
