import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The tool with a low limit of threads, with which libdispatch would wait forever.
@Suite("Limits of threads of a command", .timeLimit(.hang))
struct ThreadLimitTests {
  /// Runs the tool as a user without other processes, with at most `count` threads.
  private func run(_ tool: Tool, threads count: Int, user: Int, _ words: String...) throws
    -> Tool.Result
  {
    try tool.run(
      [
        // Root is not limited.
        "timeout", "-k", "1", "60", "setpriv", "--reuid=\(user)", "--regid=\(user)",
        "--clear-groups", "prlimit", "--nproc=\(count)", Tool.path,
      ] + words, program: "/usr/bin/env")
  }

  @Test(
    "With too few threads a command ends with an error, and with enough it succeeds", .slow,
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func everyLimit() throws {
    let tool = try Tool.withBook()
    let user = Int.random(in: 100_000..<200_000)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o777], ofItemAtPath: tool.folder.path)
    var limit = 1
    while limit <= 64 {
      let result = try run(
        tool, threads: limit, user: user, "get", Tool.chapter1, "--quiet", "--store", "store",
        "--library", "lib", "--attempts", "1")
      if result.status == 0 { break }
      #expect(result.status == 1, "\(limit) threads: \(result.errors)")
      #expect(result.errors.contains("[304]"), "\(limit) threads: \(result.errors)")
      #expect(result.errors.contains("RLIMIT_NPROC"), "\(limit) threads: \(result.errors)")
      // A few are enough, because a hang takes a minute.
      limit += limit < 4 ? 1 : 4
    }
    #expect((5...32).contains(limit), "it ran with \(limit) threads")
    let server = try run(
      tool, threads: 7, user: user, "serve", "store", "--listen", "127.0.0.1:0")
    #expect(server.status == 1)
    #expect(server.errors.contains("[304]"), "\(server.errors)")
  }
}
