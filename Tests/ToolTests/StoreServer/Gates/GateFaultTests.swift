import HostedHTTPValues
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedFileServer

/// Each fault of a content server behind nginx, and of the server that decides about URLs.
@Suite(
  "A gate with faulty servers", .slow,
  .enabled(if: Nginx.isInstalled, "\(Nginx.reason)"), .waiting, .timeLimit(.hang))
struct GateFaultTests {
  private static let faults = [
    "close", "reset", "reset 5", "cut 1kB", "cut 0", "stall 3 20ms", "stall 0 20ms",
    "drip 64kB 1ms", "latency 20ms", "rate 8MB/s", "longer 7", "endless", "content-length none",
    "content-length 5", "content-length +5", "content-length -5", "slow-head 8 1ms",
    "huge-head 1kB", "huge-head 1MB", "ignore-range", "validators changed", "validators weak",
    "validators none", "body changed", "partial short 5", "partial shifted 5",
    "partial overlapping 5", "content-range none", "content-range shifted 5",
    "content-range total 5", "content-range \"bytes 0-0/1\"", "unsatisfiable",
    "unsatisfiable bare", "gzip", "login-page", "status 401", "status 403", "status 404",
    "status 500", "status 503 retry-after 1", "status 429 retry-after-date 1", "redirect loop",
    "redirect http://127.0.0.1:1/{path}", "flip 12",
  ]

  private static let words: [[String]] = [[], ["--range", "0-199"], ["--head"], ["--http1.0"]]

  @Test("Every fault is in the list")
  func complete() {
    let names = Set(Self.faults.map { String($0.prefix { $0 != " " }) })
    // nginx uses plain HTTP to other servers.
    #expect(names.union(["tls"]) == Set(FaultName.allCases.map(\.rawValue)))
  }

  @Test(
    "Whatever a content server does, a client without a grant gets nothing",
    arguments: GatedStore.Gate.allCases)
  func contentServer(gate: GatedStore.Gate) throws {
    let tool = try GatedStore.shop()
    let content = try tool.serveStore()
    let store = try GatedStore(
      tool, gate, targets: "proxy_pass http://127.0.0.1:\(content.port);")
    let parts = try self.parts(tool)
    for (number, fault) in Self.faults.enumerated() {
      try content.setFaults(FaultScript("*.pkg \(fault)\n*.index \(fault)"))
      for (path, parts) in parts {
        for words in Self.words {
          let reply = try store.request(path, words)
          #expect([401, 403].contains(reply.status), "\(fault): \(reply.status)")
          #expect(!parts.occur(in: reply.bytes), "\(fault)")
        }
      }
      try tool.fail(
        ["get", GatedStore.content, "--quiet"] + store.reading("library-\(number)"),
        saying: ["[206]"])
    }
    #expect(!content.requests.contains { GatedStore.isGated($0.path) })
    try content.setFaults(.none)
    try tool.succeed(store.buying(GatedStore.content, account: "alice"))
    #expect(content.requests.contains { GatedStore.isGated($0.path) })
    content.stop()
  }

  @Test("Whatever the server that decides does, a client without a grant gets nothing")
  func authorizer() throws {
    let tool = try GatedStore.shop()
    var configuration = FileServer.Configuration()
    configuration.routes["/internal/authorize"] = { _ in HTTPResponse(401, text: "No grant.") }
    let authorizer = try FileServer(
      folder: tool.folder.path("store"), configuration: configuration)
    try authorizer.start()
    let store = try GatedStore(tool, .authRequest, authorizer: authorizer.port)
    let parts = try self.parts(tool)
    // A page with the status 200 would be a permission.
    for fault in Self.faults where fault != "login-page" {
      try authorizer.setFaults(FaultScript("* \(fault)"))
      for (path, parts) in parts {
        for words in Self.words {
          let reply = try store.request("\(path)?grant=1.2.3", words)
          #expect([401, 403, 500].contains(reply.status), "\(fault): \(reply.status)")
          #expect(!parts.occur(in: reply.bytes), "\(fault)")
        }
      }
    }
    #expect(authorizer.requests.contains { $0.path == "/internal/authorize" })
    authorizer.stop()
  }

  /// The paths of all packages and indexes, and their bytes.
  private func parts(_ tool: Tool) throws -> [(path: String, parts: FileParts)] {
    try GatedStore.gatedPaths(tool).map { path in
      let bytes = FileManager.default.contents(atPath: tool.folder.path("store\(path)"))
      return (path: path, parts: FileParts(try #require(bytes)))
    }
  }
}
