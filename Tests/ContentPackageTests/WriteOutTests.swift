@testable import ContentPackage
import Dispatch
import Glibc
import Locks
import Testing

@Suite("Having the disk write while more arrives", .timeLimit(.minutes(1)))
struct WriteOutTests {
  @Test func `the disk is told when much was written, and not again while it writes`() throws {
    let writeOut = WriteOut()
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let calls = Mutex(0)
    let thread = try WorkerThreads(count: 1) { _ in
      writeOut.run {
        calls.withLock { $0 += 1 }
        begun.signal()
        goOn.wait()
      }
    }
    writeOut.note(WriteOut.stretch - 1)
    writeOut.note(1)
    begun.wait()
    // It is writing; this waits for the next time.
    writeOut.note(3 * WriteOut.stretch)
    #expect(calls.withLock { $0 } == 1)
    goOn.signal()
    while begun.wait(timeout: .now()) == .timedOut {
      writeOut.note(0)
      usleep(1000)
    }
    goOn.signal()
    writeOut.close()
    thread.join()
    #expect(calls.withLock { $0 } == 2)
  }

  @Test func `nothing is written out for little`() throws {
    let writeOut = WriteOut()
    let calls = Mutex(0)
    let thread = try WorkerThreads(count: 1) { _ in
      writeOut.run { calls.withLock { $0 += 1 } }
    }
    writeOut.note(WriteOut.stretch - 1)
    writeOut.close()
    thread.join()
    #expect(calls.withLock { $0 } == 0)
  }
}
