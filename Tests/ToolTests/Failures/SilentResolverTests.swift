import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "A name server that does not answer", .waiting,
  .enabled(if: SyncDelay.isUsable, Comment(rawValue: SyncDelay.reason)), .timeLimit(.hang))
struct SilentResolverTests {
  /// Replaces getaddrinfo(3) by a function that never returns; it ends a program that waits.
  private static let source = """
    #include <unistd.h>

    int getaddrinfo(const char *name, const char *service, const void *hints, void **found) {
      sleep(60);
      _exit(99);
    }
    """

  @Test("A request ends at its timeout, and its session is closed without waiting", .slow)
  func timeout() throws {
    let tool = try Tool()
    let (source, library) = (tool.folder.path("silent.c"), tool.folder.path("silent.so"))
    try Data(Self.source.utf8).write(to: URL(filePath: source))
    try SyncDelay.compile(source, into: library)
    let result = try tool.run(
      [
        "products", "--store", "http://store.example", "--trust-on-first-use", "--proxy", "none",
        "--attempts", "1", "--connect-timeout", "1",
      ], environment: ["LD_PRELOAD": library])
    #expect(result.status == 1)
    #expect(result.errors.contains("Cannot connect to store.example"), "\(result.errors)")
  }
}
