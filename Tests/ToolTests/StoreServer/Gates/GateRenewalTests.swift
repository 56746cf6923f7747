import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Downloads through the guide's gates that take longer than the lifetime of a URL.
@Suite(
  "Downloads while URLs expire", .slow,
  .enabled(if: Nginx.isInstalled, "\(Nginx.reason)"), .waiting, .timeLimit(.hang))
struct GateRenewalTests {
  private static let lifetime = 3
  private static let words = ["--url-lifetime", "\(lifetime)"]

  private func size(of content: String, _ tool: Tool) throws -> Int {
    let path = try #require(
      try GatedStore.gatedPaths(tool).first { $0.hasSuffix(".pkg") && $0.contains(content) })
    let bytes = FileManager.default.contents(atPath: tool.folder.path("store\(path)"))
    return try #require(bytes).count
  }

  @Test(
    "URLs are renewed once for each part of their lifetime, and no byte is sent twice",
    arguments: GatedStore.Gate.allCases)
  func renewals(gate: GatedStore.Gate) throws {
    let tool = try GatedStore.shop(bytes: 12 << 20)
    let store = try GatedStore(tool, gate, words: Self.words)
    let start = ContinuousClock.now
    try tool.succeed(store.buying(GatedStore.content, account: "alice") + ["--limit-rate", "2M"])
    let seconds = start.duration(to: .now) / .seconds(1)
    let size = try size(of: GatedStore.content, tool)
    let sent = try store.packageBytesSent()
    #expect(sent <= size, "\(sent) of \(size) bytes")
    let calls = try store.requests().count { $0.path == "/v1/content-grants" }
    #expect(calls > 1)
    // The time in a URL is a whole second, so a URL can end up to a second earlier.
    let shortest = min(0.8 * Double(Self.lifetime), Double(Self.lifetime - 1))
    #expect(Double(calls) <= seconds / shortest + 1, "\(calls) calls in \(seconds) s")
  }

  @Test(
    "A revocation ends a download within a lifetime; its data is used after the next grant",
    arguments: GatedStore.Gate.allCases)
  func revocation(gate: GatedStore.Gate) throws {
    let tool = try GatedStore.shop(bytes: 16 << 20)
    let store = try GatedStore(tool, gate, words: Self.words, targets: "limit_rate 1m;")
    let size = try size(of: GatedStore.content, tool)
    let words = store.buying(GatedStore.content, account: "alice")
    // Takes 16 seconds, with one request at a time.
    let process = try tool.start(
      words + ["--connections", "1", "--quiet"], errors: tool.folder.path("errors"))
    try process.wait { try tool.exists("nginx-store.log") && store.packageBytesSent() > 0 }
    try #require(process.isRunning)
    let purchases = try tool.purchases("history", store.server, account: "alice")
    let transaction = try #require(purchases.keys.first)
    try store.change(transaction, "revoke")
    #expect(process.waitUntilExit().status == 1)
    #expect(try tool.text("errors").contains("[206]"))
    // Bytes measure the time, because nginx sends at most 1 MiB per second.
    let first = try store.packageBytesSent()
    try #require(first <= size / 2, "\(first) of \(size) bytes")

    try store.change(transaction, "reverse")
    try tool.succeed(words)
    #expect(try tool.current("alice") == [GatedStore.content: "1.0"])
    // Only pieces that were not complete are sent again.
    let sent = try store.packageBytesSent()
    #expect(sent <= size + 1 << 20, "\(sent) of \(size) bytes")
  }
}
