import HostedHTTPValues
import HostedModel
import HostedDigests
import FoundationEssentials
import HostedShop
import HostedTestSupport
import Testing
import HostedTestTraits

@testable import HostedTrust
@testable import HostedStoreAPI

@Suite(.waiting, .timeLimit(.hang))
struct AuthenticationTests {
  // MARK: Opaque tokens

  @Test func `an opaque token is accepted until it expires or is revoked`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    #expect(await store.send("GET", "/v1/products", token).status == 200)
    let key = try #require(try store.ledger.keys().first)
    #expect(try store.ledger.revokeKey(key.kid, at: store.clock.value))
    #expect(await store.send("GET", "/v1/products", token).status == 401)

    let other = try store.token(.read)
    let kid = try #require(try store.ledger.keys().first { $0.revoked == nil }).kid
    let end = store.clock.value.addingTimeInterval(60)
    #expect(try store.ledger.expireKey(kid, at: end))
    #expect(await store.send("GET", "/v1/products", other).status == 200)
    store.clock.change { $0 = end }
    #expect(await store.send("GET", "/v1/products", other).status == 401)
  }

  @Test func `the scheme is Bearer in any case, and everything else is refused`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    func status(_ value: String) async -> Int {
      await store.send(
        "GET", "/v1/products", headers: ["Authorization": value]
      ).status
    }
    #expect(await status("bearer \(token)") == 200)
    for value in [
      "", token, "Basic \(token)", "Bearer", "Bearer ", "Bearer \(token)x", "Bearer \(token) ",
      "Bearer \(token), Bearer \(token)", "Bearer \(token.dropLast())", "Bearer hct_",
      "Bearer \(OpaqueToken.generate())", "Bearer \(token.uppercased())", "Bearer a.b.c",
      "Bearer " + String(repeating: "a", count: 100_000), "Bearer \u{e9}", "Bearer ..",
    ] {
      #expect(await status(value) == 401, "\(value.prefix(60))")
    }
  }

  @Test func `the ledger has only the digest of a token`() throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let key = try #require(try store.ledger.keys().first)
    #expect(key.credential == .token(try Digest(of: Array(token.utf8))))
    #expect(token.hasPrefix("hct_") && token.utf8.count == 47)
  }

  // MARK: JWTs

  /// A key pair of a caller.
  private struct Signer {
    let key: SigningKey
    let store: TestStore
    let kid: String

    init(
      _ kind: KeyKind, in store: TestStore, scopes: Set<KeyScope> = Set(KeyScope.allCases)
    ) throws {
      key = try .generate(kind)
      self.store = store
      kid = "key-K-\(kind.rawValue)-\(randomIdentifier())"
      _ = try store.ledger.add(
        APIKey(
          kid: kid, account: AccountID(rawValue: kid), .publicKey(pem: key.publicKey.pem),
          scopes: scopes,
          created: store.clock.value))
    }

    var now: Int64 { Int64(store.clock.value.timeIntervalSince1970) }

    /// Returns a JWT with other header members and claims; null removes one.
    func jwt(
      header: [String: JSONValue] = [:], _ claims: [String: JSONValue] = [:],
      signedBy other: SigningKey? = nil
    ) throws -> String {
      let signer = other ?? key
      let isECDSA = signer.publicKey.kind == .ecdsaP256
      let head: [String: JSONValue] = [
        "alg": .string(isECDSA ? "ES256" : "EdDSA"), "typ": .string("JWT"), "kid": .string(kid),
      ]
      let body: [String: JSONValue] = [
        "iss": .string(kid), "aud": .string(TestStore.origin), "exp": .integer(now + 600),
        "iat": .integer(now), "jti": .string("1"),
      ]
      func text(_ members: [String: JSONValue], _ changes: [String: JSONValue]) -> String {
        let merged = members.merging(changes) { $1 }.filter { $0.value != .null }
        return Base64URL.text(of: JSONValue.object(merged).encoded)
      }
      let message = "\(text(head, header)).\(text(body, claims))"
      let signature = try signer.sign(Array(message.utf8))
      let raw = isECDSA ? ECDSASignature.raw(ofDER: signature) ?? [] : signature
      return "\(message).\(Base64URL.text(of: raw))"
    }

    func status(_ jwt: String) async -> Int { await store.send("GET", "/v1/products", jwt).status }
  }

  @Test(arguments: [KeyKind.ecdsaP256, .ed25519])
  func `a JWT is accepted`(_ kind: KeyKind) async throws {
    let signer = try Signer(kind, in: try TestStore())
    let now = signer.now
    #expect(try await signer.status(signer.jwt()) == 200)
    let cases: [[String: JSONValue]] = [
      ["exp": .integer(now - 59)], ["exp": .integer(now + 900)], ["iat": .null],
      ["iat": .integer(now + 300)], ["nbf": .integer(now + 60)], ["other": .string("ignored")],
      ["sub": .string("a")], ["exp": .number(Double(now) + 599.5), "nbf": .number(0.5)],
      ["iat": .number(Double(now) + 0.25), "other": .number(1e300)],
    ]
    for claims in cases {
      #expect(try await signer.status(signer.jwt(claims)) == 200, "\(claims)")
    }
    #expect(try await signer.status(signer.jwt(header: ["typ": .null])) == 200)
    #expect(try signer.store.ledger.revokeKey(signer.kid, at: signer.store.clock.value))
    #expect(try await signer.status(signer.jwt()) == 401)
  }

  @Test func `a JWT with wrong claims is refused`() async throws {
    let signer = try Signer(.ecdsaP256, in: try TestStore())
    let now = signer.now
    let cases: [[String: JSONValue]] = [
      ["iss": .null], ["iss": .string("key-other")], ["aud": .null],
      // The Kelvin sign, which Swift compares as K.
      ["iss": .string(signer.kid.replacing("K", with: "\u{212a}"))],
      ["aud": .string("https://other.example")], ["aud": .string(TestStore.origin + "/")],
      ["aud": .array([.string(TestStore.origin)])], ["exp": .null], ["exp": .string("\(now)")],
      ["exp": .integer(now - 60)], ["exp": .integer(now + 901)], ["exp": .integer(.max)],
      ["exp": .integer(.min)], ["iat": .integer(now + 301)], ["iat": .string("0")],
      ["exp": .number(Double(now) - 60.5)], ["exp": .number(Double(now) + 901.5)],
      ["exp": .number(1e300)], ["nbf": .number(1e300)],
      ["nbf": .integer(now + 61)], ["nbf": .bool(true)], ["jti": .null], ["jti": .string("")],
      ["jti": .integer(1)], ["sub": .integer(1)], ["sub": .string("")], ["sub": .string("-")],
      ["sub": .string("key-other")], ["sub": .string("a\nb")],
      ["sub": .string(String(repeating: "a", count: 257))],
    ]
    for claims in cases {
      #expect(try await signer.status(signer.jwt(claims)) == 401, "\(claims)")
    }
  }

  @Test func `a JWT cannot choose its algorithm or another key`() async throws {
    let store = try TestStore()
    let signer = try Signer(.ecdsaP256, in: store)
    let other = try Signer(.ed25519, in: store)
    let cases: [[String: JSONValue]] = [
      ["alg": .string("none")], ["alg": .string("HS256")], ["alg": .string("RS256")],
      ["alg": .string("EdDSA")], ["alg": .string("es256")], ["alg": .null],
      ["kid": .null], ["kid": .string(other.kid)], ["kid": .string("key-unknown")],
      ["kid": .string("")], ["kid": .integer(1)], ["typ": .string("at+jwt")],
      ["typ": .integer(1)], ["crit": .array([.string("exp")])], ["jku": .string("https://a/")],
      ["jwk": .object([:])],
    ]
    for header in cases {
      #expect(try await signer.status(signer.jwt(header: header)) == 401, "\(header)")
    }
    #expect(try await signer.status(signer.jwt(signedBy: other.key)) == 401)
    let parts = try signer.jwt().split(separator: ".")
    #expect(await signer.status("\(parts[0]).\(parts[1]).") == 401)
    #expect(await signer.status("\(parts[0]).\(parts[1]).\(parts[2])A") == 401)
    #expect(await signer.status("\(parts[0]).\(parts[1])") == 401)
    let claims = Base64URL.text(of: Array("{\"iss\":\"\(signer.kid)\"}".utf8))
    #expect(await signer.status("\(parts[0]).\(claims).\(parts[2])") == 401)
  }

  @Test(.slow) func `a key with a token does not verify JWTs, nor one with an RSA key`()
    async throws
  {
    let store = try TestStore()
    let signer = try Signer(.ecdsaP256, in: store)
    _ = try store.token(.read)
    let kid = try #require(try store.ledger.keys().first { $0.kid != signer.kid }).kid
    let header: [String: JSONValue] = ["kid": .string(kid)]
    #expect(try await signer.status(signer.jwt(header: header, ["iss": .string(kid)])) == 401)
    let rsa = try Signer(.rsaPSS, in: store)
    #expect(try await rsa.status(rsa.jwt(header: ["alg": .string("RS256")])) == 401)
  }

  @Test func `a stream of events ends when its key is revoked`() async throws {
    let store = try TestStore()
    let signer = try Signer(.ed25519, in: store)
    let buyer = try store.token(.purchase)
    let reader = try store.token(.read)
    let kid = try #require(try store.ledger.keys().first { $0.scopes == [.read] }).kid
    let device = try signer.jwt(["sub": .string("a")])
    let callers = [(kid, reader), (signer.kid, device)]
    for (number, (kid, token)) in callers.enumerated() {
      let response = await store.send(
        "GET", "/v1/events", token, headers: ["Accept": "text/event-stream"])
      guard case .stream(let body) = response.body else { throw UnexpectedBody() }
      let stream = StreamReader(body)
      _ = await stream.text(until: "\n\n")
      await store.buy("\(number)-seen", buyer, product: "coins", account: "a")
      _ = await stream.text(until: "\"\(number)-seen\"")
      #expect(try store.ledger.revokeKey(kid, at: store.clock.value))
      await store.buy("\(number)-secret", buyer, product: "coins", account: "a")
      let rest = await stream.text(until: "secret")
      #expect(!rest.contains("secret"))
    }
  }

  // MARK: Accounts

  /// Identifiers that a device may use.
  private static let (order1, order2, order3, order4) = (
    "d0000000-0000-4000-8000-000000000001", "d0000000-0000-4000-8000-000000000002",
    "d0000000-0000-4000-8000-000000000003", "d0000000-0000-4000-8000-000000000004"
  )

  @Test func `a JWT with an account can do nothing for another account`() async throws {
    let store = try TestStore()
    let signer = try Signer(.ecdsaP256, in: store)
    let (service, alice) = (try signer.jwt(), try signer.jwt(["sub": .string("\u{e9}")]))
    await store.buy(Self.order1, service, account: "bob")
    await store.buy(Self.order2, service, account: "e\u{301}")
    #expect(await store.buy(Self.order3, alice).document["account"] == .string("\u{e9}"))
    for transaction in [Self.order1, Self.order2] {
      #expect(await store.send("GET", "/v1/purchases/\(transaction)", alice).status == 404)
      #expect(
        await store.send("POST", "/v1/purchases/\(transaction)/finish", alice).status == 404)
      #expect(await store.buy(transaction, alice).status == 422)
    }
    for account in ["bob", "e%CC%81", signer.kid, "key-other"] {
      for list in ["entitlements", "history"] {
        let response = await store.send("GET", "/v1/accounts/\(account)/\(list)", alice)
        #expect(response.status == 403 && response.isProblem, "\(account)")
      }
    }
    for scope in [
      "\"account\":\"bob\"", "\"transaction\":\"\(Self.order1)\"",
      "\"transaction\":\"\(Self.order2)\"",
    ] {
      let content = "{\"contentIdentifier\":\"book\",\"version\":\"1.2\"}"
      let response = await store.send(
        "POST", "/v1/content-grants", alice, body: "{\(scope),\"contents\":[\(content)]}")
      #expect(response.status == 403 && response.isProblem, "\(scope)")
    }
    // A device could take the identifiers of a back end otherwise.
    let taken = await store.buy("order-1042", alice)
    #expect(taken.status == 400 && taken.isProblem)
    #expect(await store.buy("order-1042", service, account: "bob").status == 201)
    #expect(await store.buy(Self.order4, alice, account: "bob").status == 403)
    #expect(await store.buy(Self.order4, alice, account: "e\u{301}").status == 403)
    for change in ["approve", "decline", "refund", "revoke", "reverse"] {
      #expect(
        await store.send("POST", "/v1/purchases/\(Self.order3)/\(change)", alice).status == 403)
    }
    #expect(await store.send("POST", "/v1/accounts/-/erase", alice).status == 403)

    #expect(await store.send("GET", "/v1/purchases/\(Self.order3)", alice).status == 200)
    #expect(await store.send("POST", "/v1/purchases/\(Self.order3)/finish", alice).status == 204)
    for account in ["-", "%C3%A9"] {
      let own = await store.send("GET", "/v1/accounts/\(account)/history", alice).document
      guard case .array(let purchases)? = own["transactions"] else {
        Issue.record("no list")
        continue
      }
      #expect(purchases.map { $0["transactionIdentifier"] } == [.string(Self.order3)])
    }
  }

  @Test func `a purchase with a JWT for an account is for it, with and without its name`()
    async throws
  {
    let store = try TestStore()
    let signer = try Signer(.ed25519, in: store)
    let alice = try signer.jwt(["sub": .string("alice")])
    let first = await store.buy(Self.order1, alice)
    #expect(first.status == 201 && first.document["account"] == .string("alice"))
    for account in ["alice", "-"] {
      let again = await store.buy(Self.order1, alice, account: account)
      #expect(again.status == 200 && again.bytes == first.bytes)
    }
    // The service sees the same purchase, and no other account has it.
    let service = try signer.jwt()
    #expect(await store.buy(Self.order1, service, account: "alice").status == 200)
    #expect(await store.buy(Self.order1, service).status == 422)
    #expect(try store.ledger.owned(account: "alice").map(\.transaction) == [Self.order1])
    #expect(try store.ledger.owned(account: AccountID(rawValue: signer.kid)).isEmpty)
  }

  @Test func `a key uses each account, but of the keys' accounts only its own`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, kid: "key-mine")
    #expect(await store.buy("1", token).document["account"] == .string("key-mine"))
    #expect(await store.buy("2", token, account: "-").document["account"] == .string("key-mine"))
    #expect(
      await store.buy("3", token, account: "key-mine").document["account"] == .string("key-mine"))
    #expect(await store.buy("4", token, account: "alice").document["account"] == .string("alice"))
    #expect(await store.buy("5", token, account: "key-other").status == 403)
    #expect(await store.send("GET", "/v1/accounts/key-other/history", token).status == 403)
    #expect(await store.send("GET", "/v1/accounts/alice/history", token).status == 200)

    let other = try store.token(.purchase, kid: "key-other")
    await store.buy("6", other)
    #expect(await store.send("GET", "/v1/purchases/6", token).status == 404)
    #expect(await store.send("POST", "/v1/purchases/6/finish", token).status == 404)
    #expect(await store.send("POST", "/v1/purchases/6/finish", other).status == 204)
    #expect(await store.send("POST", "/v1/purchases/4/finish", other).status == 204)
  }
}
