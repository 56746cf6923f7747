import ContentModel
import Dispatch
import Concurrency
import Testing

@testable import HostedContent

/// When observers are told; time is made up.
@Suite("When reports are told")
final class DeliveryTests {
  /// Notes by when somebody must look, and looks when it is told to.
  private final class Line: SerialLine {
    private let state = Mutex(State())

    private struct State {
      var now = DispatchTime(uptimeNanoseconds: 1_000_000_000)
      var bodies: [(due: DispatchTime, body: @Sendable () -> Void)] = []
    }

    var now: DispatchTime { state.withLock { $0.now } }

    /// Milliseconds from now until each time at which somebody is to look.
    var due: [Int] {
      state.withLock { state in
        state.bodies.map {
          Int(($0.due.uptimeNanoseconds - state.now.uptimeNanoseconds) / 1_000_000)
        }
      }
    }

    /// Lets so much time pass, and does what is due then.
    func pass(_ time: DispatchTimeInterval) {
      let going = state.withLock { state in
        state.now = state.now + time
        let now = state.now
        defer { state.bodies.removeAll { $0.due <= now } }
        return state.bodies.filter { $0.due <= now }
      }
      for entry in going { entry.body() }
    }

    /// Lets go of what is not due yet, and of whoever it holds.
    func forget() { state.withLock { $0.bodies = [] } }

    func enqueue(_ body: @escaping @Sendable () -> Void) { enqueue(at: now, body) }

    func enqueue(at time: DispatchTime, _ body: @escaping @Sendable () -> Void) {
      state.withLock { $0.bodies.append((time, body)) }
    }

    func sync<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
  }

  /// Nobody asks it for a receipt.
  private struct NoJournal: QueueJournal {
    func readQueue() -> JournaledQueue { JournaledQueue() }
    func receipt(of transaction: String) -> String? { nil }
    func commit(_ changes: [JournalChange]) {}
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

  private func reportState(of id: String) throws {
    let record = TransactionRecord(
      id: id, sequence: 1, payment: Payment(productIdentifier: ProductIdentifier("a")),
      status: .purchasing)
    delivery.report(downloads: ["\(id)-1"], of: [record])
  }

  private func reportProgress(of id: String) {
    delivery.report(progress: ["\(id)-1": DownloadProgress(fraction: 0.5, timeRemaining: 1)])
  }

  /// Tells as many states as go at once, and lets a millisecond pass.
  private func spendWhatGoesAtOnce() throws {
    for number in 1...CallPace.atOnce {
      try reportState(of: "early-\(number)")
      line.pass(.nanoseconds(0))
      #expect(line.due.isEmpty)
    }
    line.pass(.milliseconds(1))
  }

  @Test("All that one download goes through is told at once, its end after its progress, too")
  func oneDownload() throws {
    try reportState(of: "t")
    line.pass(.milliseconds(1))
    reportProgress(of: "t")
    line.pass(.milliseconds(1))
    try reportState(of: "t")
    #expect(line.due == [0])
  }

  @Test("States of many downloads share a call once as many were told as one download has")
  func states() throws {
    try spendWhatGoesAtOnce()
    try reportState(of: "t")
    #expect(line.due == [19])
    line.pass(.milliseconds(5))
    try reportState(of: "u")
    #expect(line.due == [14])
    line.pass(.milliseconds(14))
    #expect(line.due.isEmpty)
    // One more for every pause.
    try reportState(of: "v")
    #expect(line.due == [20])
  }

  @Test("Progress waits for its turn as states do, and what happens besides does not")
  func progress() throws {
    try spendWhatGoesAtOnce()
    reportProgress(of: "t")
    #expect(line.due == [19])
    delivery.deliver {}
    #expect(line.due.min() == 0)
  }

  @Test("However many calls could not wait, the next waits for one pause")
  func forced() {
    var pace = CallPace()
    let now = line.now
    for _ in 1...500 { pace.note(at: now) }
    #expect(pace.next(at: now) == now + .milliseconds(20))
    #expect(pace.next(at: now + .milliseconds(50)) == now + .milliseconds(50))
  }
}
