import HostedConcurrency
import Dispatch
import HostedFileIO
import Glibc
import HostedTestSupport
import Testing

@Suite("Heaps of glibc")
struct MemoryArenasTests {
  /// A sanitizer has an allocator of its own.
  private static let isGlibcAsUsual =
    PeakMemory.isMeasurable && getenv("MALLOC_ARENA_MAX") == nil && getenv("GLIBC_TUNABLES") == nil

  /// The number of heaps after 16 threads have allocated memory at the same time.
  private static func heapCountOfThreads() throws -> Int {
    let (ready, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let threads = try (0..<16).map { _ in
      try WorkThread {
        let memory = malloc(100_000)
        ready.signal()
        end.wait()
        free(memory)
      }
    }
    for _ in threads { ready.wait() }
    let count = HeapCount.current
    for _ in threads { end.signal() }
    for thread in threads { thread.end() }
    return count
  }

  @Test(.enabled(if: SlowTests.allowExitTests && isGlibcAsUsual))
  func `all threads of a process share two heaps once their number is limited`() async {
    await #expect(processExitsWith: .success) {
      // The testing library also has threads.
      let before = HeapCount.current
      MemoryArenas.limit()
      let after = try Self.heapCountOfThreads()
      #expect(after <= max(before, 2))
    }
    await #expect(processExitsWith: .success) {
      let before = HeapCount.current
      let after = try Self.heapCountOfThreads()
      #expect(after > before + 4)
    }
  }
}
