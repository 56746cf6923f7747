import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Root keys of several custodians, each with their own passphrase.
@Suite("Custodians of root keys")
struct CustodianTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    for name in ["ada", "bob", "eve", "online"] {
      try Data("secret of \(name)\n".utf8).write(to: URL(filePath: tool.folder.path(name)))
    }
  }

  private func passphrases(_ names: String...) -> [String] {
    names.flatMap { ["--root-passphrase-file", $0] } + ["--passphrase-file", "online"]
  }

  private static let plan = ["--key-counts", "root=3", "--thresholds", "root=2"]

  private func store(_ words: [String], status: Int32 = 0, saying texts: [String] = []) throws {
    let result = try tool.run(["store"] + words)
    #expect(result.status == status, "\(result.errors)")
    for text in texts { #expect(result.errors.contains(text), "\(result.errors)") }
  }

  @Test("Each root key has its custodian's passphrase, and any two of them can sign", .slow)
  func custodians() throws {
    try store(["init", "store"] + Self.plan + passphrases("ada", "bob", "eve"))
    try store(["add", "store", "a", "--passphrase-file", "online"])
    // Each key file has its own passphrase.
    for (number, name) in ["ada", "bob", "eve"].enumerated() {
      let key = tool.folder.path("store.keys/root/root-\(number + 1).pem")
      for other in ["ada", "bob", "eve"] {
        let result = try tool.run(
          ["pkey", "-in", key, "-noout", "-passin", "file:\(tool.folder.path(other))"],
          program: "/usr/bin/openssl")
        #expect((result.status == 0) == (name == other), "\(name), \(other)")
      }
    }
    try store(["rotate", "store", "timestamp"] + passphrases("eve", "ada"))
    try store(
      ["rotate", "store", "timestamp"] + passphrases("bob"), status: 1,
      saying: ["1 of the 2 usable root keys"])
    // New root keys need a passphrase each, or one for all.
    try store(
      ["rotate", "store", "root"] + passphrases("eve", "ada"), status: 2, saying: ["3", "2"])
    try store(["rotate", "store", "root"] + passphrases("eve", "ada", "bob"))
    try store(["rotate", "store", "snapshot"] + passphrases("ada", "bob"))
    try store(["rotate", "store", "root", "--key-counts", "root=2"] + passphrases("ada", "bob"))
    try tool.succeed("products", "--store", "store")
  }

  @Test("The number of passphrases must be one or the number of keys")
  func count() throws {
    try store(["init", "store"] + Self.plan + passphrases("ada", "bob"), status: 2)
    #expect(!tool.exists("store"))
    try store(["init", "store"] + Self.plan + passphrases("ada"))
    try store(["rotate", "store", "root"] + passphrases("ada"))
  }

  @Test("Passphrases can come from pipes, so that they need not be on the disk")
  func pipes() throws {
    for (command, operand) in [("init", ""), ("rotate", "timestamp")] {
      let result = try tool.run(
        [
          "-c",
          "\"$0\" store \(command) store \(operand) --passphrase-file <(cat online) "
            + "--root-passphrase-file <(cat ada)", Tool.path,
        ], program: "/bin/bash")
      #expect(result.status == 0, "\(result.errors)")
    }
    try store(["add", "store", "a", "--passphrase-file", "online"])
  }

  @Test("A renamed key file is reported, with the valid names")
  func renamed() throws {
    try tool.succeed("store", "init", "store")
    for (folder, role) in [("store.keys/root", "root"), ("store.keys", "timestamp")] {
      try FileManager.default.moveItem(
        atPath: tool.folder.path("\(folder)/\(role).pem"),
        toPath: tool.folder.path("\(folder)/my \(role) key.pem"))
      try store(
        ["rotate", "store", "snapshot"], status: 1,
        saying: ["\(role).pem", "\(role)-*.pem", "my \(role) key.pem"])
      try FileManager.default.moveItem(
        atPath: tool.folder.path("\(folder)/my \(role) key.pem"),
        toPath: tool.folder.path("\(folder)/\(role)-of-ada.pem"))
      try store(["rotate", "store", "snapshot"])
    }
  }
}
