import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The tool and processes of another user.
@Suite("Another user's processes", .timeLimit(.hang))
struct OtherUserCommandTests {
  /// A tool with both chapters installed with an open umask.
  private func library() throws -> Tool {
    let tool = try Tool.withBook()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: tool.folder.path)
    let words = ["get", Tool.chapter1, Tool.chapter2, "--store", "store", "--library", "lib"]
    let got = try tool.run(
      ["-c", #"umask 0; exec "$0" "$@""#, Tool.path] + words, program: "/bin/sh")
    #expect(got.status == 0, "\(got.errors)")
    return tool
  }

  @Test("Only the owner can access journal, lock and grants, with any umask")
  func modes() throws {
    let tool = try library()
    let names = try FileManager.default.contentsOfDirectory(atPath: tool.folder.path("lib"))
    #expect(Set(names).isSuperset(of: ["journal.sqlite", "lock", "ledger.sqlite"]))
    for name in names {
      let attributes = try FileManager.default.attributesOfItem(
        atPath: tool.folder.path("lib/\(name)"))
      guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
    }
  }

  @Test(
    "Another user can list installed content, but cannot read the queue or block the owner",
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func otherUser() throws {
    let tool = try library()
    func run(_ program: String, _ words: String...) throws -> Tool.Result {
      try tool.run(OtherUser.command(program, words), program: "/usr/bin/env")
    }
    let list = try run(Tool.path, "list", "--library", "lib", "--json")
    #expect(list.status == 0, "\(list.errors)")
    // Only the owner can read the recorded files.
    var own = try tool.succeed("list", "--library", "lib", "--json").json()
    own["contents"] = try #require(own["contents"] as? [[String: Any]]).map { entry in
      #expect(entry["filesMissing"] as? Bool == false)
      return entry.filter { $0.key != "filesMissing" }
    }
    #expect(try NSDictionary(dictionary: list.json()) == NSDictionary(dictionary: own))

    for words in [["queue"], ["pin"], ["verify"]] {
      let refused = try tool.run(
        OtherUser.command(Tool.path, words + ["--library", "lib"]), program: "/usr/bin/env")
      #expect(refused.status == 1)
      #expect(refused.errors.contains("[302]"), "\(words): \(refused.errors)")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: tool.folder.path("lib"))
    #expect(names.contains("journal.sqlite") && names.contains("ledger.sqlite"))
    for name in names where !["products", "staging", "trust"].contains(name) {
      #expect(try run("cat", "lib/\(name)").status != 0, "\(name) can be read")
      #expect(try run("flock", "--nonblock", "lib/\(name)", "true").status != 0, "\(name)")
    }
  }

  @Test(
    "A lease or lock of another user's process keeps a version, and nothing waits for it", .slow,
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"), arguments: ["-s", "-x"])
  func lease(kind: String) throws {
    let tool = try library()
    let version = "lib/products/\(Tool.chapter1)/1.0"
    let process = try tool.start(
      OtherUser.command(
        "flock", ["--no-fork", kind, version, "sh", "-c", "echo held; exec sleep 600"]),
      output: tool.folder.path("held"), program: "/usr/bin/env")
    defer {
      process.kill(SIGKILL)
      process.waitUntilExit()
    }
    try process.wait { try !tool.text("held").isEmpty }
    let words = ["remove", Tool.chapter1, "--library", "lib"]
    let refused = try tool.run(words)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("[315]"), "\(refused.errors)")
    try tool.succeed("remove", Tool.chapter2, "--library", "lib")
    #expect(process.isRunning)
  }
}
