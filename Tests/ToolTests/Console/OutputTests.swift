import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// What programs receive that share the output of the tool.
@Suite("Output", .timeLimit(.hang))
struct OutputTests {
  @Test("A pipe that another program has made non-blocking gets the whole output")
  func nonBlocking() async throws {
    var ends: [Int32] = [-1, -1]
    let isOpen = pipe(&ends) == 0
    try #require(isOpen)
    let (output, input) = (ends[0], ends[1])
    let isChanged = fcntl(input, F_SETFL, O_NONBLOCK) == 0
    try #require(isChanged)
    // More than a pipe holds.
    let text = String(repeating: "a line\n", count: 100_000)
    async let reading = onOwnThread {
      try FileHandle(fileDescriptor: output, closeOnDealloc: true)
        .read(upToCount: text.utf8.count)
    }
    let failure = await onOwnThread { Console.write(text, to: input) }
    close(input)
    let received = try await reading
    #expect(failure == nil)
    #expect(received == Data(text.utf8))
  }
}
