import HostedHTTPValues
import HostedModel
import HostedStoreAPI
import HostedTestTraits
import Testing

@Suite("Requests of the content host", .waiting, .timeLimit(.hang))
struct AuthorizationTests {
  /// A fixture with a sold product, and the request target of its package with a grant.
  private func bought(_ urls: [String] = ["https://content.example/"]) throws -> (
    fixture: GateFixture, uri: String, path: String, grant: String
  ) {
    let fixture = try GateFixture(urls)
    try fixture.sell("t-1", "space")
    let uri = try #require(try fixture.grant([("space", "1.1")]).first).uri
    let parts = uri.split(separator: "?grant=").map(String.init)
    try #require(parts.count == 2)
    return (fixture, uri, parts[0], parts[1])
  }

  @Test func `A grant allows its package and its index`() throws {
    let (fixture, uri, path, _) = try bought()
    #expect(path.hasSuffix(".content.pkg"))
    let response = fixture.grants.authorize(originalURI: uri)
    #expect(response.status == 204)
    #expect(response.field("Cache-Control") == "max-age=29")
    let files = try fixture.grant([("space", "1.1"), ("space", "1.0")])
    #expect(files.count == 4)
    #expect(files.allSatisfy { fixture.status($0.uri) == 204 })
  }

  @Test func `Metadata and records are public, packages and indexes are not`() throws {
    let (fixture, _, path, _) = try bought()
    for uri in ["/", "/metadata/timestamp.json", "/metadata/1.root.json", "/index.html"] {
      #expect(fixture.status(uri) == 204, "\(uri)")
    }
    #expect(fixture.status("/targets/space/0123.product.json") == 204)
    let index = path.replacing("content.pkg", with: "content.index")
    for uri in [path, index, "/targets/", "/targets/space/", "/other/targets/a.pkg", "/targets/a"] {
      let response = fixture.grants.authorize(originalURI: uri)
      #expect(response.status == 401, "\(uri)")
      #expect(response.field("Cache-Control") == "no-store")
      #expect(response.field("WWW-Authenticate") != nil)
    }
  }

  @Test(arguments: [
    "PATH", "PATH?", "PATH?GRANT=MAC", "PATH?x=1", "PATH?token=hct_0123", "PATH?x=1&grant=MAC",
  ])
  func `A request without a grant gets 401`(form: String) throws {
    let (fixture, _, path, grant) = try bought()
    let uri = form.replacing("PATH", with: path).replacing("MAC", with: grant)
    #expect(fixture.status(uri) == 401)
  }

  @Test(arguments: [
    // A key instead of a grant.
    "PATH?grant=hct_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "PATH?grant=key-1", "PATH?grant=",
    "PATH?grant=..", "PATH?grant=1.2.3",
    // Other files.
    "/targets/atlas/2/0707.content.pkg?grant=MAC", "/store/PATH?grant=MAC", "PATH/?grant=MAC",
    "/targetsPATH?grant=MAC", "/xPATH?grant=MAC",
    // Paths that nginx normalizes to the file of the grant, or to another one.
    "/PATH?grant=MAC", "/.PATH?grant=MAC", "/targets/..PATH?grant=MAC", "/%2e%2ePATH?grant=MAC",
    "/targets/atlas/%2e%2ePATH?grant=MAC", "/targets/atlas/2/%2E%2E/x.json",
    "/targets/atlas/../space/x.json", "/targets//atlas/x.json", "/./targets/atlas/x.json",
    "PATH%00?grant=MAC", "PATH#?grant=MAC", "PATH#.json", "PATH%23.json", "PATH;x?grant=MAC",
    "http://content.example/PATH?grant=MAC", "PATH\\?grant=MAC", "PATH\n?grant=MAC", "", "x", "?",
    // Several parameters: nginx and the server could use different ones.
    "PATH?grant=MAC&x=1", "PATH?grant=&grant=MAC", "PATH?grant=MAC&grant=MAC", "PATH?grant=MAC?",
    "PATH?grant=MAC=", "PATH?grant=MAC.", "PATH?grant= MAC", "PATH?grant=%MAC",
  ])
  func `Everything else gets 403`(form: String) throws {
    let (fixture, _, path, grant) = try bought()
    let uri = form.replacing("PATH", with: path).replacing("MAC", with: grant)
    let response = fixture.grants.authorize(originalURI: uri)
    #expect(response.status == 403)
    #expect(response.field("Cache-Control") == "no-store")
  }

  @Test func `A changed grant gets 403 at each of its characters`() throws {
    let (fixture, _, path, grant) = try bought()
    let bytes = Array(grant.utf8)
    for index in bytes.indices {
      for replacement in [UInt8(ascii: "0"), UInt8(ascii: "A"), UInt8(ascii: ".")]
      where bytes[index] != replacement {
        var changed = bytes
        changed[index] = replacement
        let uri = "\(path)?grant=\(String(decoding: changed, as: UTF8.self))"
        #expect(fixture.status(uri) == 403, "\(uri)")
      }
    }
    #expect(fixture.status("\(path)?grant=\(grant.dropLast())") == 403)
    #expect(fixture.status(nil) == 403)
    #expect(fixture.status("/" + String(repeating: "a", count: 9_000)) == 403)
  }

  @Test func `The grant of another server's secret gets 403`() throws {
    let (_, uri, _, _) = try bought()
    let other = try GateFixture(
      ContentGate(
        .authRequest, secret: [1], contentURLs: ["https://content.example/"],
        lifetime: GateFixture.lifetime))
    #expect(other.status(uri) == 403)
  }

  /// nginx adds the age to the second of its clock, and uses the answer until the end of the sum.
  @Test func `A grant ends, and nginx does not use the answer longer`() throws {
    let (fixture, uri, _, _) = try bought()
    var passed = 0.0
    for (time, age) in [
      (0, 29), (569.5, 29), (570, 29), (570.5, 28), (598, 1), (599, 0), (599.75, 0),
    ] {
      fixture.advance(time - passed)
      passed = time
      let response = fixture.grants.authorize(originalURI: uri)
      #expect(response.field("Cache-Control") == "max-age=\(age)", "\(time)")
    }
    fixture.advance(600 - passed)
    #expect(fixture.status(uri) == 403)
  }

  @Test(arguments: ["https://content.example/store", "https://content.example/targets/"])
  func `A store below a path of its host is granted with this path`(url: String) throws {
    let (fixture, uri, path, grant) = try bought([url])
    let folder = url.hasSuffix("/store") ? "/store/" : "/targets/"
    #expect(path.hasPrefix("\(folder)targets/space/1.1/"))
    #expect(fixture.status(uri) == 204)
    #expect(fixture.status(path) == 401)
    #expect(fixture.status("\(folder)metadata/timestamp.json") == 204)
    let other = "/other/" + path.dropFirst(folder.count)
    #expect(fixture.status("\(other)?grant=\(grant)") == 403)
  }

  @Test func `Each mirror has its URL`() throws {
    let urls = ["https://a.example", "https://b.example:8443/x/"]
    let fixture = try GateFixture(urls)
    try fixture.sell("t-1", "space")
    let file = try #require(try fixture.grant([("space", "1.1")]).first)
    #expect(file.urls.count == 2)
    #expect(file.urls[0].hasPrefix("https://a.example/\(file.target)?grant="))
    #expect(file.urls[1].hasPrefix("https://b.example:8443/x/\(file.target)?grant="))
  }

  @Test func `Without a gate, everything is public and grants have no URLs`() throws {
    let fixture = try GateFixture(nil)
    #expect(try fixture.grant([("space", "1.1")]).isEmpty)
    #expect(fixture.status("/targets/space/1.1/x.content.pkg") == 204)
  }

  @Test func `URLs for secure_link have the digest that nginx computes`() throws {
    let fixture = try GateFixture(
      ContentGate(
        .secureLink, secret: Array("secret".utf8), contentURLs: ["https://content.example/a%20b/"],
        lifetime: GateFixture.lifetime))
    try fixture.sell("t-1", "space")
    let file = try #require(try fixture.grant([("space", "1.1")]).first)
    // For nginx's rule "$secure_link_expires$uri secret", computed with openssl. nginx accepts it
    // until the end of the second, which is the end of its lifetime.
    let query = "md5=exvzHqZZY1TWy1n5ldmFag&expires=1800000599"
    #expect(file.urls == ["https://content.example/a%20b/\(file.target)?\(query)"])
    #expect(fixture.status("/a/\(file.target)?\(query)") == 403)
  }
}
