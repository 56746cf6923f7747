import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// nginx and the store server as the guide says, and clients without the URL of a file.
@Suite(
  "Attacks on a gate", .slow,
  .enabled(if: Nginx.isInstalled, "\(Nginx.reason)"), .waiting, .timeLimit(.hang))
struct GateAttackTests {
  private static let refusals = [400, 401, 403, 404, 405]

  @Test(
    "Only the URL of its buyer gets a package or an index", arguments: GatedStore.Gate.allCases)
  func attacks(gate: GatedStore.Gate) throws {
    let tool = try GatedStore.shop()
    let store = try GatedStore(tool, gate)
    try tool.succeed(store.buying(GatedStore.content, account: "alice"))
    try tool.succeed(store.buying(GatedStore.otherContent, account: "bob"))
    let targets = try store.grant(GatedStore.content, to: "alice")
    let others = try store.grant(GatedStore.otherContent, to: "bob")
    try #require(targets.count == 2 && others.count == 2)
    for (target, other) in zip(targets, others) { try attack(store, gate, target, other) }
  }

  private func attack(
    _ store: GatedStore, _ gate: GatedStore.Gate, _ target: String, _ other: String
  ) throws {
    let path = String(target.prefix { $0 != "?" })
    let file = try #require(
      FileManager.default.contents(atPath: store.tool.folder.path("store\(path)")))
    let parts = FileParts(file)
    let head = String(decoding: try store.request(target, ["--head"]).bytes, as: UTF8.self)
    func field(_ name: String) throws -> String {
      let line = try #require(head.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name) })
      return String(line.dropFirst(name.count))
    }
    let attacks = try GateAttacks(
      target: target, otherTarget: other, token: store.tool.text("token"), host: store.host,
      entityTag: field("ETag: "), modified: field("Last-Modified: ")
    ).all(gate)
    #expect(attacks.count > 200)
    for (number, attack) in attacks.enumerated() {
      // The cache has answers about the buyer's requests during all attacks.
      if number.isMultiple(of: 50) {
        for _ in 1...3 { #expect(try store.request(target).bytes.suffix(file.count) == file) }
        #expect(try parts.occur(in: store.request(target, ["--range", "0-99"]).bytes))
      }
      let reply = try store.request(attack.target, attack.words)
      #expect(Self.refusals.contains(reply.status), "\(reply.status): \(attack)")
      #expect(!parts.occur(in: reply.bytes), "\(attack)")
    }
  }

  @Test(
    "An expired URL gets nothing, even if nginx has the answer about it in its cache",
    arguments: GatedStore.Gate.allCases)
  func expired(gate: GatedStore.Gate) throws {
    let tool = try GatedStore.shop()
    let lifetime = 10
    let store = try GatedStore(tool, gate, words: ["--url-lifetime", "\(lifetime)"])
    try tool.succeed(store.buying(GatedStore.content, account: "alice"))
    let targets = try store.grant(GatedStore.content, to: "alice")
    // One second is the precision of the times in URLs, and of nginx.
    let expiry = Date() + Double(lifetime + 1)
    try #require(targets.count == 2)
    for target in targets {
      for _ in 1...3 { #expect(try store.request(target).status == 200) }
    }
    blockUntil { Date() > expiry }
    for target in targets {
      for words in [[], ["--range", "0-199"], ["--head"]] as [[String]] {
        #expect(try store.request(target, words).status == 403)
      }
    }
  }

  @Test("An account gets no URL of another account's content")
  func otherAccount() throws {
    let tool = try GatedStore.shop()
    let store = try GatedStore(tool, .authRequest)
    try tool.succeed(store.buying(GatedStore.content, account: "alice"))
    try tool.succeed(store.buying(GatedStore.otherContent, account: "bob"))
    let words = ["--cacert", store.authority, "--header", "Content-Type: application/json"]
    for (account, content) in [
      ("alice", GatedStore.otherContent), ("bob", GatedStore.content), ("eve", GatedStore.content),
    ] {
      let body = """
        {"account": "\(account)",
         "contents": [{"contentIdentifier": "\(content)", "version": "1.0"}]}
        """
      let answer = try tool.call(
        "\(store.host)/v1/content-grants", words + ["--data", body])
      #expect(answer.status == 403, "\(account)")
      #expect(!answer.document.keys.contains("files"))
    }
  }
}
