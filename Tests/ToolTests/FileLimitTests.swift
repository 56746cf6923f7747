import Foundation
import StoreServer
import TestSupport
import Testing

/// The tool where only few files may be open at once, or only short ones be written.
@Suite("Limits of files", .timeLimit(.minutes(10)))
struct FileLimitTests {
  /// Fewer are not enough for the system's own libraries to begin.
  private static let least = 8
  /// More than enough; a tool that fails for another reason is not tried for ever.
  private static let most = 64
  /// Seconds after which a run hangs; it waits for nothing but its own attempts.
  private static let patience = 60

  @Test("However few files may be open, a command ends with its error, and the next one goes on")
  func everyLimit() throws {
    let tool = try Tool()
    try tool.succeed("store", "init", "store")
    let package = try tool.makePackage("com.example.a", "1.0", ["text": Data("A text\n".utf8)])
    try tool.succeed("store", "publish", "store", package)
    let server = try StoreServer(folder: tool.folder.path("store"))
    try server.start()
    let get = [
      "get", "com.example.a", "--quiet", "--store", server.url, "--root",
      "store/metadata/1.root.json",
    ]
    var limit = Self.least
    while limit <= Self.most {
      let library = "lib\(limit)"
      let words = get + ["--library", library, "--attempts", "1"]
      let script = "ulimit -n \(limit); exec timeout -k 1 \(Self.patience) \"$@\""
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

  @Test("A file that is longer than files may be is an error, and comes once they may")
  func fileSize() throws {
    let tool = try Tool()
    try tool.succeed("store", "init", "store")
    let film = Data((0..<(2 << 20)).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
    let package = try tool.makePackage("com.example.a", "1.0", ["film": film])
    try tool.succeed("store", "publish", "store", package)
    let get = ["get", "com.example.a", "--quiet", "--store", "store", "--library", "lib"]
    // What starts the tests may ignore the signal, which its children then would, too.
    let script = "ulimit -f 2000; exec env --default-signal=XFSZ \"$@\""
    let limited = try tool.run(
      ["-c", script, "sh", Tool.path] + get, program: "/bin/sh",
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(limited.status == 1)
    #expect(limited.errors.contains("Raise the limit of file sizes"), "\(limited.errors)")
    try tool.succeed("get", "com.example.a", "--quiet", "--store", "store", "--library", "lib")
  }
}
