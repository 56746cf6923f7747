import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// The tool with a low limit of open files, or of file sizes.
@Suite("Limits of files", .timeLimit(.hang))
struct FileLimitTests {
  /// The system's libraries cannot start with fewer.
  private static let least = 8
  /// More than enough.
  ///
  /// A tool that fails for another reason is not retried forever.
  private static let most = 64
  /// The time in seconds after which a run is considered hanging.
  private static let timeout = 60

  @Test(
    "With too few open files, a command fails with its error, and the next one continues", .slow)
  func everyLimit() throws {
    let tool = try Tool.withStore()
    let package = try tool.makePackage("com.example.a", "1.0", ["text": Data("A text\n".utf8)])
    try tool.succeed("store", "publish", "store", package)
    let server = try tool.serveStore()
    let get = [
      "get", "com.example.a", "--quiet", "--store", server.url, "--root",
      "store/metadata/1.root.json",
    ]
    var limit = Self.least
    while limit <= Self.most {
      let library = "lib\(limit)"
      let words = get + ["--library", library, "--attempts", "1"]
      let script = "ulimit -n \(limit); exec timeout -k 1 \(Self.timeout) \"$@\""
      let limited = try tool.run(
        ["-c", script, "sh", Tool.path] + words, program: "/bin/sh",
        environment: ["SWIFT_BACKTRACE": "enable=no"])
      if limited.status == 0 { break }
      #expect(limited.status == 1, "\(limit) files: \(limited.errors)")
      #expect(limited.errors.hasPrefix("hostedcontent: "), "\(limit) files: \(limited.errors)")
      #expect(!limited.errors.contains("refuses"), "\(limit) files: \(limited.errors)")
      let next = try tool.run(get + ["--library", library])
      #expect(next.status == 0, "after \(limit) files: \(next.errors)")
      limit += 1
    }
    #expect((Self.least + 5...Self.most).contains(limit), "it ran with \(limit) files")
  }

  @Test("A file beyond the file size limit is an error, and is installed without the limit", .slow)
  func fileSize() throws {
    let tool = try Tool.withStore()
    let film = Data((0..<(2 << 20)).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
    let package = try tool.makePackage("com.example.a", "1.0", ["film": film])
    try tool.succeed("store", "publish", "store", package)
    let get = ["get", "com.example.a", "--quiet", "--store", "store", "--library", "lib"]
    // The parent of the tests may ignore the signal, and children inherit that.
    let script = "ulimit -f 2000; exec env --default-signal=XFSZ \"$@\""
    let limited = try tool.run(
      ["-c", script, "sh", Tool.path] + get, program: "/bin/sh",
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(limited.status == 1)
    #expect(limited.errors.contains("Raise the limit of file sizes"), "\(limited.errors)")
    try tool.succeed("get", "com.example.a", "--quiet", "--store", "store", "--library", "lib")
  }
}
