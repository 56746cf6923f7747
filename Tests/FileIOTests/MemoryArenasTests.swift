import Concurrency
import Dispatch
import FileIO
import Glibc
import Testing

@Suite("Heaps of glibc")
struct MemoryArenasTests {
  private static let isLimitedByUser =
    getenv("MALLOC_ARENA_MAX") != nil || getenv("GLIBC_TUNABLES") != nil

  /// The number of heaps of this process, by malloc_info(3).
  private static func heapCount() throws -> Int {
    var text: UnsafeMutablePointer<CChar>?
    var length = 0
    let stream = try #require(open_memstream(&text, &length))
    malloc_info(0, stream)
    fclose(stream)
    defer { free(text) }
    let heaps = String(cString: try #require(text)).split(separator: "<heap nr=")
    return heaps.count - 1
  }

  /// The same after 16 threads have allocated memory while all of them were running.
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
    let count = try heapCount()
    for _ in threads { end.signal() }
    for thread in threads { thread.end() }
    return count
  }

  @Test(.enabled(if: !isLimitedByUser))
  func `all threads of a process share two heaps once their number is limited`() async {
    await #expect(processExitsWith: .success) {
      // The testing library has threads, too.
      let before = try Self.heapCount()
      MemoryArenas.limit()
      #expect(try Self.heapCountOfThreads() <= max(before, 2))
    }
    await #expect(processExitsWith: .success) {
      let before = try Self.heapCount()
      #expect(try Self.heapCountOfThreads() > before + 4)
    }
  }
}
