import HostedModel
import HostedTrust
import HostedDigests
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Tokens and JWTs that prove nothing, at a store server as a process.
@Suite("Bad tokens at a store server", .waiting, .timeLimit(.hang))
struct StoreServerTokenTests {
  private let fixture: RequestFixture

  init() throws { fixture = try RequestFixture() }

  private func request(_ authorization: [String]) -> String {
    APIClient.text("GET", "/v1/products", authorization.map { "Authorization: \($0)" })
  }

  private func expectRefused(
    _ authorization: String..., location: SourceLocation = #_sourceLocation
  ) throws {
    let response = try fixture.expectProblem(
      [401], to: request(authorization), location: location)
    #expect(response?.headers["www-authenticate"] == "Bearer", sourceLocation: location)
    let secrets = authorization.flatMap { $0.split(separator: " ").filter { $0.count > 20 } }
    for secret in secrets {
      #expect(response?.body.contains(secret) == false, sourceLocation: location)
    }
  }

  @Test("A token that is missing, malformed, changed or repeated")
  func tokens() throws {
    let token = fixture.token
    let valid = try fixture.server.client()
    valid.send(request(["Bearer \(token)"]))
    #expect(try valid.response().status == 200)
    try fixture.expectProblem([401], to: request([]))
    for authorization in [
      "", "Bearer", "Bearer ", token, "Basic \(token)", "Bearer \(token)x",
      "Bearer \(token.dropLast())",
      "Bearer \(token.uppercased())", "Bearer \(token), Bearer \(token)", "Bearer hct_",
      "Bearer hct_\(String(repeating: "A", count: 43))", "Bearer \u{e9}", "Bearer ..",
      "Bearer a.b.c",
      "Bearer \(String(repeating: "a", count: 6_000))",
    ] {
      try expectRefused(authorization)
    }
    try expectRefused("Bearer \(token)", "Bearer \(token)")
    #expect(fixture.server.log == "\(fixture.server.url)\n")
  }

  @Test("A key without the scope of a request")
  func scopes() throws {
    try fixture.tool.addKey("read", to: "reader")
    let reader = "Authorization: Bearer \(try fixture.tool.text("reader"))"
    for (target, lines, body) in [
      ("/v1/purchases", ["Idempotency-Key: a"], RequestFixture.body),
      ("/v1/purchases/a/refund", [], ""), ("/v1/accounts/alice/erase", [], ""),
    ] as [(String, [String], String)] {
      let text = APIClient.text("POST", target, [reader] + lines, body: body)
      try fixture.expectProblem([403], to: text)
    }
    try fixture.expectNoEffect(of: "a")
  }

  @Test("A JWT with another algorithm, key or signature")
  func signatures() throws {
    let service = try JWTService(fixture.tool, for: fixture.server)
    let valid = try fixture.server.client()
    valid.send(request(["Bearer \(try service.jwt())"]))
    #expect(try valid.response().status == 200)

    for name in ["none", "None", "NONE", ""] {
      let header: [String: JSONValue] = ["alg": .string(name)]
      try expectRefused("Bearer \(try service.jwt(header: header) { _ in [] })")
      try expectRefused("Bearer \(try service.jwt(header: header))")
    }
    // A public key as the secret of a symmetric algorithm.
    let publicKey = service.key.publicKey
    for secret in [Array(publicKey.pem.utf8), publicKey.bytes] {
      let jwt = try service.jwt(header: ["alg": .string("HS256")]) { message in
        try HMAC.sha256(message, key: secret)
      }
      try expectRefused("Bearer \(jwt)")
    }
    for name in ["ES256", "RS256", "PS256", "eddsa", "HS256"] {
      try expectRefused("Bearer \(try service.jwt(header: ["alg": .string(name)]))")
    }
    let other = try SigningKey.generate(.ed25519)
    try expectRefused("Bearer \(try service.jwt { try other.sign($0) })")
    let headers: [[String: JSONValue]] = [
      ["alg": .null], ["kid": .null], ["kid": .string("key-unknown")], ["kid": .string("")],
      ["kid": .string("../\(service.kid)")], ["kid": .integer(1)], ["typ": .string("at+jwt")],
      ["crit": .array([.string("exp")])], ["jwk": .object([:])], ["jku": .string("http://a/")],
    ]
    for header in headers {
      try expectRefused("Bearer \(try service.jwt(header: header))")
    }
    let parts = try service.jwt().split(separator: ".")
    for text in [
      "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1]).\(parts[2]).",
      "\(parts[0]).\(parts[1]).\(parts[2])A", "\(parts[0]).\(parts[1]).\(parts[2])=",
      ".\(parts[1]).\(parts[2])", "\(parts[0])..\(parts[2])", "\(parts[1]).\(parts[1]).\(parts[2])",
    ] {
      try expectRefused("Bearer \(text)")
    }
    #expect(fixture.server.log == "\(fixture.server.url)\n")
  }

  @Test("A JWT with missing or wrong claims")
  func claims() throws {
    let service = try JWTService(fixture.tool, for: fixture.server)
    let now = service.now
    let claims: [[String: JSONValue]] = [
      ["aud": .null], ["aud": .string("https://other.example")],
      ["aud": .string(fixture.server.url)], ["iss": .null], ["iss": .string("key-other")],
      ["exp": .null], ["exp": .integer(now - 120)], ["exp": .integer(0)],
      ["exp": .integer(now + 20 * 60)], ["exp": .integer(.max)], ["exp": .string("\(now + 60)")],
      ["iat": .integer(now + 3_600)], ["nbf": .integer(now + 3_600)], ["jti": .null],
      ["jti": .string("")], ["jti": .integer(1)], ["sub": .integer(1)], ["sub": .string("")],
      ["sub": .string("key-other")],
    ]
    for claim in claims { try expectRefused("Bearer \(try service.jwt(claim))") }
    // A device's JWT is for its account only.
    let device = "Authorization: Bearer \(try service.jwt(["sub": .string("alice")]))"
    for (method, target, status) in [
      ("GET", "/v1/accounts/bob/history", 403), ("POST", "/v1/accounts/alice/erase", 403),
      ("POST", "/v1/purchases/a/refund", 403), ("GET", "/v1/purchases/a", 404),
    ] {
      try fixture.expectProblem([status], to: APIClient.text(method, target, [device]))
    }
    let bob = RequestFixture.body.replacing("alice", with: "bob")
    let order = "0d6c6a1e-5d3c-4f0b-9a52-2f8f5b0f7c11"
    try fixture.expectProblem(
      [403],
      to: APIClient.text("POST", "/v1/purchases", [device, "Idempotency-Key: \(order)"], body: bob))
    try fixture.expectNoEffect(of: order)
    // A device could take the identifiers of a back end otherwise.
    try fixture.expectProblem(
      [400],
      to: APIClient.text(
        "POST", "/v1/purchases", [device, "Idempotency-Key: order-1042"],
        body: RequestFixture.body))
    try fixture.expectNoEffect(of: "order-1042")
  }
}
