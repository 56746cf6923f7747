import Foundation
import HostedTestSupport
import Testing

/// The files and folders that a store's commands create for a web server.
@Suite("Served files")
struct ServedFileTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  private func permissions(_ name: String) throws -> Int {
    let values = try FileManager.default.attributesOfItem(atPath: tool.folder.path(name))
    return try #require(values[.posixPermissions] as? Int)
  }

  private func setPermissions(_ permissions: Int, _ name: String) throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: permissions], ofItemAtPath: tool.folder.path(name))
  }

  /// Runs the tool with a umask that removes all permissions of others.
  private func runPrivately(_ words: String...) throws {
    let result = try tool.run(
      ["-c", #"umask 077 && exec "$0" "$@""#, Tool.path] + words, program: "/bin/sh")
    #expect(result.status == 0, "\(result.errors)")
  }

  private func names(_ folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: tool.folder.path(folder))
  }

  @Test("Served files are readable with a restrictive umask")
  func umask() throws {
    let package = Tool.sample("chapter1-1.0.pkg")
    try runPrivately("store", "init", "store")
    try runPrivately("store", "publish", "store", package)
    try runPrivately("store", "add", "store", "com.example.club")
    try runPrivately("store", "refresh", "store", "--everything")
    try runPrivately("store", "rotate", "store", "timestamp")
    #expect(try permissions("store") == 0o755)
    let names = try names("store")
    #expect(names.count > 12)
    for name in names {
      let isFile = [".json", ".jsonl", ".pkg", ".index"].contains { name.hasSuffix($0) }
      let path = "store/\(name)"
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(
        atPath: tool.folder.path(path), isDirectory: &isFolder)
      #expect(isFile || isFolder.boolValue)
      #expect(try permissions(path) == (isFolder.boolValue ? 0o755 : 0o644), "\(name)")
    }
    for name in try self.names("store.keys") {
      #expect(try permissions("store.keys/\(name)") & 0o077 == 0, "\(name)")
    }
  }

  @Test("A publication makes a product's private folder readable")
  func earlierFolders() throws {
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "add", "store", "com.example.club")
    let folder = "store/targets/com.example.club"
    try setPermissions(0o700, folder)
    try tool.succeed("store", "add", "store", "com.example.club", "--title", "Club")
    #expect(try permissions(folder) == 0o755)
    // The owner decides about the group's permissions.
    try setPermissions(0o750, folder)
    try tool.succeed("store", "add", "store", "com.example.club", "--title", "The Club")
    #expect(try permissions(folder) == 0o750)
  }

  @Test("Write permissions of others on keys and their folders are removed before use")
  func keys() throws {
    try tool.succeed("store", "init", "store")
    let writable = ["store.keys", "store.keys/targets.pem", "store.keys/published.json"]
    for name in writable { try setPermissions(0o777, name) }
    try setPermissions(0o770, "store.keys/root")
    try setPermissions(0o622, "store.keys/root/root.pem")
    try tool.succeed("store", "refresh", "store", "--everything")
    try tool.succeed("store", "rotate", "store", "timestamp")
    for name in writable + ["store.keys/root", "store.keys/root/root.pem"] {
      #expect(try permissions(name) & 0o022 == 0, "\(name)")
    }
    // Read permissions are kept, because a group may share the keys.
    #expect(try permissions("store.keys/targets.pem") & 0o044 == 0o044)
  }

  @Test(
    "Another user's keys that others can write are refused",
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func keysOfOthers() throws {
    try tool.succeed("store", "init", "store")
    for name in [".", "store", "store/metadata", "store/targets", "store.keys"] {
      try setPermissions(0o777, name)
    }
    for name in try names("store.keys") { try setPermissions(0o666, "store.keys/\(name)") }
    try setPermissions(0o755, "store.keys/root")
    let end = try OtherUser.run(
      Tool.path, ["store", "refresh", tool.folder.path("store"), "--everything"])
    #expect(end.status == 1)
    #expect(end.output.contains("chmod"), "\(end.output)")
  }

  @Test("The next publication removes the files of a killed one")
  func leftovers() throws {
    try tool.succeed("store", "init", "store")
    let leftovers = ["store/targets/.publication.new", "store/metadata/.publication.new"]
    for name in leftovers { try tool.write("The beginning of a file", to: name) }
    try tool.succeed("store", "refresh", "store", "--everything")
    for name in leftovers { #expect(!tool.exists(name), "\(name)") }
  }

  @Test("A publication that exceeds the limit of file sizes is an error and leaves no file")
  func fileSizeLimit() throws {
    try tool.succeed("store", "init", "store")
    // ThreadSanitizer maps a file that it writes to TMPDIR, and gets SIGBUS if the limit cuts it.
    let limit = #"ulimit -f 1; TMPDIR=/dev/null exec "$0" "$@""#
    let result = try tool.run(
      ["-c", limit, Tool.path, "store", "publish", "store", Tool.sample("chapter1-1.0.pkg")],
      program: "/bin/bash")
    #expect(result.status == 1)
    #expect(result.errors.contains("File too large"), "\(result.errors)")
    #expect(try !names("store").contains { $0.hasSuffix(".new") || $0.hasSuffix(".pkg") })
  }

  @Test("A git clone of a store, without the folder targets, can be published to")
  func cloned() throws {
    try tool.succeed("store", "init", "store")
    try FileManager.default.removeItem(atPath: tool.folder.path("store/targets"))
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.0.pkg"))
    #expect(try permissions("store/targets") == 0o755)
    try FileManager.default.removeItem(atPath: tool.folder.path("store/targets"))
    try tool.succeed("store", "add", "store", "com.example.club")
  }

  @Test(
    "A symbolic link instead of a store's folder is reported",
    arguments: ["targets", "metadata"])
  func link(name: String) throws {
    try tool.succeed("store", "init", "store")
    try FileManager.default.moveItem(
      atPath: tool.folder.path("store/\(name)"), toPath: tool.folder.path("disk"))
    try FileManager.default.createSymbolicLink(
      atPath: tool.folder.path("store/\(name)"), withDestinationPath: "../disk")
    try tool.fail(
      "store", "publish", "store", Tool.sample("chapter1-1.0.pkg"),
      saying: ["store/\(name) is a symbolic link", "mount"])
  }

  @Test("A root file with a leading zero in its version is not the next root")
  func zero() throws {
    try tool.succeed("store", "init", "store")
    for name in ["02.root.json", "002.root.json", "+2.root.json", " 2.root.json"] {
      try Data("{}".utf8).write(to: URL(filePath: tool.folder.path("store/metadata/\(name)")))
    }
    try tool.succeed("store", "add", "store", "com.example.club")
    try tool.succeed("store", "list", "store")
    try tool.succeed("store", "rotate", "store", "timestamp")
    try tool.succeed("store", "refresh", "store", "--everything")
    try tool.succeed("products", "--store", "store")
  }
}
