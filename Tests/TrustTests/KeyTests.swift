import HostedModel
import HostedTrust
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite struct KeyTests {
  /// A test vector of RFC 8032, section 7.1, in hexadecimal digits.
  struct Vector {
    let secret: String
    let publicKey: String
    let message: String
    let signature: String

    /// The private key in PKCS#8 PEM form (RFC 8410).
    var pem: [UInt8] {
      get throws {
        let bytes = Hexadecimal.bytes(of: "302e020100300506032b657004220420\(secret)")
        let text = Data(try #require(bytes)).base64EncodedString()
        return Array("-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n".utf8)
      }
    }
  }

  static let vectors = [
    Vector(
      secret: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      message: "",
      signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
        + "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    Vector(
      secret: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      message: "72",
      signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e"
        + "458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
  ]

  @Test(arguments: vectors)
  func `the vectors of RFC 8032 are signed and verified`(_ vector: Vector) throws {
    let key = try SigningKey(pem: vector.pem)
    let message = try #require(Hexadecimal.bytes(of: vector.message))
    #expect(Hexadecimal.text(of: key.publicKey.bytes) == vector.publicKey)
    let signature = try key.sign(message)
    #expect(Hexadecimal.text(of: signature) == vector.signature)
    #expect(try key.publicKey.verifies(signature, of: message))
  }

  @Test func `a changed message, signature or key fails verification`() throws {
    let (key, other) = (try SigningKey.generate(), try SigningKey.generate())
    var signature = try key.sign([1, 2, 3])
    #expect(try !key.publicKey.verifies(signature, of: [1, 2, 4]))
    #expect(try !other.publicKey.verifies(signature, of: [1, 2, 3]))
    #expect(try !key.publicKey.verifies([], of: [1, 2, 3]))
    #expect(try !key.publicKey.verifies(signature + [0], of: [1, 2, 3]))
    signature[10] ^= 1
    #expect(try !key.publicKey.verifies(signature, of: [1, 2, 3]))
  }

  @Test func `a key's identifier is the SHA-256 of its canonical object`() throws {
    // printf '{"keytype":"ed25519","keyval":{"public":"d75a…511a"},"scheme":"ed25519"}' | sha256sum
    let bytes = try #require(Hexadecimal.bytes(of: Self.vectors[0].publicKey))
    let key = try #require(PublicKey(bytes: bytes))
    #expect(
      key.identifier == "74c181c7ad8a0855d4b55e44d2ba87aabdddb196832571f15f92fece332e4916")
  }

  @Test func `writing and reading preserves a key`() throws {
    let key = try SigningKey.generate()
    let pem = try key.pem
    #expect(String(decoding: pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    let read = try SigningKey(pem: pem)
    #expect(read.publicKey == key.publicKey)
    #expect(try read.sign([7]) == key.sign([7]))
  }

  /// From `openssl genpkey -algorithm x25519`: a key that cannot sign.
  static let agreementKey = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VuBCIEIAg+6+hEg7h89nHlmxThluBKX4GBsXq1f1R4jiW/odBt
    -----END PRIVATE KEY-----
    """

  /// From `openssl genpkey -algorithm ed25519 -aes256 -pass pass:secret`.
  ///
  /// There must be no prompt.
  static let encryptedKey = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiw7VezfP6rdwICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEI1TUpNtnD90/J02GhN2seEEQOS9
    NS6qIz0vuQWYfYPy05eAWjvfGAfyFPaYJK7JbOqO+uahl784elZHBwk+5ARRk8nf
    Uj+SiQ8l7O+k60U+VWA=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  @Test(.slow, arguments: KeyKind.allCases)
  func `a key of each kind signs and verifies, and writing preserves it`(_ kind: KeyKind) throws {
    let key = try SigningKey.generate(kind)
    let message = [UInt8](repeating: 7, count: 1000)
    let signature = try key.sign(message)
    #expect(try key.publicKey.verifies(signature, of: message))
    #expect(try !key.publicKey.verifies(signature, of: message + [0]))
    #expect(try !SigningKey.generate(kind).publicKey.verifies(signature, of: message))
    #expect(try !key.publicKey.verifies([], of: message))
    let secret = Array("a passphrase".utf8)
    let encrypted = try key.pem(passphrase: secret)
    let read = try SigningKey(pem: encrypted, passphrase: secret)
    #expect(read.publicKey == key.publicKey)
    #expect(read.publicKey.identifier == key.publicKey.identifier)
    #expect(throws: ContentError.self) { try SigningKey(pem: encrypted) }
    #expect(throws: ContentError.self) {
      try SigningKey(pem: encrypted, passphrase: Array("another".utf8))
    }
    #expect(PublicKey(pem: key.publicKey.pem) == key.publicKey)
  }

  @Test func `a P-256 key as PEM and as a point in hexadecimal digits is the same key`() throws {
    let key = try SigningKey.generate(.ecdsaP256).publicKey
    func root(_ type: String, _ text: String) throws -> TrustedMetadata {
      let signing = try SigningKey.generate()
      let role = try RootRole(
        version: 1, expires: .distantFuture,
        keys: RoleName.allCases.reduce(into: [:]) { $0[$1] = [signing.publicKey] })
      let object = JSONValue.object([
        "keytype": .string(type), "scheme": .string("ecdsa-sha2-nistp256"),
        "keyval": .object(["public": .string(text)]),
      ])
      let signed = role.signed.replacing("keys", "other", with: object)
        .replacing("expires", with: .string("2090-01-01T00:00:00Z"))
      return try TrustedMetadata(root: RoleSigner(keys: [signing]).sign(signed))
    }
    let point = Hexadecimal.text(of: key.bytes.suffix(65))
    #expect(try root("ecdsa", key.pem).root.keys["other"] == key)
    #expect(try root("ecdsa-sha2-nistp256", key.pem).root.keys["other"] == key)
    #expect(try root("ecdsa-sha2-nistp256", point).root.keys["other"] == key)
    #expect(try root("ecdsa", point + "00").root.keys["other"] == nil)
    #expect(try root("rsa", key.pem).root.keys["other"] == nil)
  }

  @Test(arguments: [
    "", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", agreementKey,
    encryptedKey,
  ])
  func `text that is not an unencrypted Ed25519 key is refused`(_ text: String) {
    let error = #expect(throws: ContentError.self) { try SigningKey(pem: Array(text.utf8)) }
    #expect(error?.code == (text == Self.encryptedKey ? .passphraseWrong : .keyUnusable))
  }
}
