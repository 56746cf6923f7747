import HostedConcurrency
import Testing

@Suite("Streams that get the same elements")
struct OpenStreamsTests {
  private let streams = OpenStreams<Int>()

  /// Returns the elements of `stream`, which must have ended.
  private func elements(_ stream: AsyncStream<Int>) async -> [Int] {
    var found: [Int] = []
    for await element in stream { found.append(element) }
    return found
  }

  @Test("Each stream gets every element until it ends, and is then forgotten")
  func yielding() async {
    let (first, firstSender) = AsyncStream.makeStream(of: Int.self)
    let (second, secondSender) = AsyncStream.makeStream(of: Int.self)
    #expect(streams.add(firstSender) && streams.add(secondSender))
    streams.yield(1)
    firstSender.finish()
    streams.yield(2)
    #expect(!streams.isEmpty)
    streams.finish()
    #expect(await elements(first) == [1])
    #expect(await elements(second) == [1, 2])
    #expect(streams.isEmpty)
  }

  @Test("A stream that ended before it was added is forgotten at the next element")
  func ended() {
    let (stream, sender) = AsyncStream.makeStream(of: Int.self)
    sender.finish()
    streams.add(sender)
    streams.yield(1)
    #expect(streams.isEmpty)
    withExtendedLifetime(stream) {}
  }

  @Test("A stream that is added after closing ends at once, and open ones continue")
  func closing() async {
    let (open, sender) = AsyncStream.makeStream(of: Int.self)
    let (late, lateSender) = AsyncStream.makeStream(of: Int.self)
    let ends = Mutex<[String]>([])
    streams.add(sender) { ends.withLock { $0.append("open") } }
    streams.close()
    let isAdded = streams.add(lateSender) { ends.withLock { $0.append("late") } }
    #expect(!isAdded)
    #expect(ends.withLock { $0 } == ["late"])
    streams.yield(1)
    streams.finish()
    #expect(await elements(open) == [1])
    #expect(await elements(late).isEmpty)
    #expect(ends.withLock { $0 } == ["late", "open"])
  }
}
