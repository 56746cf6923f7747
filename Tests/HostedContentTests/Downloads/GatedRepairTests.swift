import HostedHTTPValues
import HostedModel
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Repair of content that a web server sends only to buyers.
@Suite("Repair of content for buyers only", .timeLimit(.hang))
struct GatedRepairTests {
  @Test("Content that another account has bought is repaired with that account's URLs")
  func account() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let server = try fixture.server {
      $0.authorize = { request in
        let isGated = request.path.hasSuffix(".pkg") || request.path.hasSuffix(".index")
        return isGated && !request.target.hasSuffix(OwnersService.grant) ? 403 : nil
      }
    }
    let calls = Watched<[AccountID?]>([])
    let url = server.url
    let queue = try fixture.queue(at: url) {
      $0.seller = { OwnersService(base: $0, url: url, calls: calls) }
    }
    _ = try await queue.deliver(Payment(productIdentifier: "a", applicationUsername: "ada"))
    #expect(calls.value == ["ada"])
    let place = "\(fixture.libraryPath)/products/a/1.0/Contents/text.txt"
    try FileManager.default.removeItem(atPath: place)
    let content = try #require(try fixture.reader().contents().first?.content)
    #expect(try await queue.repair(content).damagedPaths == ["Contents/text.txt"])
    #expect(calls.value == ["ada", nil, "ada"])
    try fixture.expectInstalled("a", "1.0")
    queue.close()
  }
}

/// Another service, whose content only the account “ada” gets.
private struct OwnersService: ContentGranting, PartialService {
  static let grant = "?grant=signature"

  let base: any StoreService
  let url: String
  let calls: Watched<[AccountID?]>

  func contentGrants(for contents: [ContentOffer], account: AccountID?) async throws
    -> ContentGrants
  {
    calls.change { $0.append(account) }
    guard account == "ada" else {
      throw ContentError(.accessDenied, "The account does not own it", remedy: "Buy it")
    }
    var urls: [String: [URL]] = [:]
    for path in contents.flatMap({ [$0.package.path, $0.index.path] }) {
      urls[path] = [URL(string: "\(url)\(path)\(Self.grant)")].compactMap { $0 }
    }
    return ContentGrants(urls: urls, lifetime: .seconds(600))
  }
}
