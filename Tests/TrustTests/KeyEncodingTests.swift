import HostedModel
import HostedTrust
import FoundationEssentials
import HostedContent
import HostedTestSupport
import Testing

/// Different encodings of one key count as one key.
@Suite struct KeyEncodingTests {
  /// Generated with `openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8
  /// -nocrypt`.
  private static let privateKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDkViK5KaSPOtYVcw
    wHqk87D1HMo+HgIHRjXGp7idw4ihRANCAASA+jG2UD4RTojQBhEE6uWnp8KIkq8i
    GP0o7Xm2PAKKGu89gcaxAZRTKJkPylqFS4cfJeKe8ovJMCMZ1Qb3tLdM
    -----END PRIVATE KEY-----
    """

  @Test func `an Ed25519 key has the PEM form of RFC 8410, section 10.1`() throws {
    let text = """
      -----BEGIN PUBLIC KEY-----
      MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
      -----END PUBLIC KEY-----

      """
    let key = try #require(PublicKey(pem: text))
    #expect(key.pem == text)
    #expect(PublicKey(bytes: key.bytes) == key)
    #expect(PublicKey(bytes: key.bytes + [0]) == nil)
  }

  /// The public half of `privateKey`, from `openssl ec -pubout` with each option.
  private static let encodings: [(form: String, base64: String)] = [
    (
      "-conv_form uncompressed",
      """
      MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgPoxtlA+EU6I0AYRBOrlp6fCiJKv
      Ihj9KO15tjwCihrvPYHGsQGUUyiZD8pahUuHHyXinvKLyTAjGdUG97S3TA==
      """
    ),
    (
      "-conv_form compressed",
      """
      MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgACgPoxtlA+EU6I0AYRBOrlp6fCiJKv
      Ihj9KO15tjwCiho=
      """
    ),
    (
      "-conv_form hybrid",
      """
      MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAGgPoxtlA+EU6I0AYRBOrlp6fCiJKv
      Ihj9KO15tjwCihrvPYHGsQGUUyiZD8pahUuHHyXinvKLyTAjGdUG97S3TA==
      """
    ),
    (
      "-param_enc explicit",
      """
      MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA
      AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////
      ///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd
      NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5
      RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA
      //////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABID6MbZQPhFOiNAGEQTq5aen
      woiSryIY/SjtebY8Aooa7z2BxrEBlFMomQ/KWoVLhx8l4p7yi8kwIxnVBve0t0w=
      """
    ),
  ]

  private static func pem(_ base64: String) -> String {
    "-----BEGIN PUBLIC KEY-----\n\(base64)\n-----END PUBLIC KEY-----\n"
  }

  /// Returns a root that requires `threshold` signatures by `keys`.
  ///
  /// `sign` creates each signature.
  private func root(
    _ keys: [JSONValue], threshold: Int, sign: ([UInt8]) throws -> [UInt8]
  ) throws -> [UInt8] {
    let identifiers = keys.indices.map { "key-\($0)" }
    var role = try SampleMetadata().rootRole().signed
      .replacing("roles", "root", "threshold", with: .integer(Int64(threshold)))
      .replacing("roles", "root", "keyids", with: .array(identifiers.map(JSONValue.string)))
    for (identifier, key) in zip(identifiers, keys) {
      role = role.replacing("keys", identifier, with: key)
    }
    let signature = JSONValue.string(Hexadecimal.text(of: try sign(role.canonical)))
    return JSONValue.object([
      "signed": role,
      "signatures": .array(
        identifiers.map { .object(["keyid": .string($0), "sig": signature]) }),
    ]).encoded
  }

  private func object(_ type: String, _ scheme: String, _ text: String) -> JSONValue {
    .object([
      "keytype": .string(type), "scheme": .string(scheme),
      "keyval": .object(["public": .string(text)]),
    ])
  }

  // MARK: P-256

  @Test(arguments: 1...4)
  func `one P-256 key in four encodings only satisfies a threshold of one`(threshold: Int) throws {
    let key = try SigningKey(pem: Array(Self.privateKey.utf8))
    let objects = Self.encodings.map {
      object("ecdsa", "ecdsa-sha2-nistp256", Self.pem($0.base64))
    }
    let bytes = try root(objects, threshold: threshold, sign: key.sign)
    let refusal = code { _ = try TrustedMetadata(root: bytes) }
    #expect(refusal == (threshold == 1 ? nil : .signatureInvalid))
  }

  @Test(arguments: encodings)
  func `a P-256 key must be an uncompressed point of the named curve`(
    form: String, base64: String
  ) throws {
    let isCanonical = form == "-conv_form uncompressed"
    #expect((PublicKey(pem: Self.pem(base64)) != nil) == isCanonical)
    let refusal = code { _ = try ReceiptVerificationKey(pem: Self.pem(base64)) }
    #expect(refusal == (isCanonical ? nil : .keyUnusable))
  }

  @Test func `a private key with its point in another form is refused`() {
    // openssl ec -conv_form compressed
    let compressed = """
      -----BEGIN PRIVATE KEY-----
      MGcCAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcETTBLAgEBBCAORWIrkppI861hVzDA
      eqTzsPUcyj4eAgdGNcanuJ3DiKEkAyIAAoD6MbZQPhFOiNAGEQTq5aenwoiSryIY
      /SjtebY8Aooa
      -----END PRIVATE KEY-----
      """
    #expect(code { _ = try SigningKey(pem: Array(compressed.utf8)) } == .keyUnusable)
  }

  // MARK: RSA

  /// One modulus of 2048 bits with several exponents.
  ///
  /// With its factors, one can sign for each of them.
  private static let exponents: [(exponent: Int, head: String, tail: String)] = [
    (65537, "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuPE9S2rTnTIccVr2bgQW", "8wIDAQAB"),
    (17, "MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEAuPE9S2rTnTIccVr2bgQW", "8wIBEQ=="),
    (3, "MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEAuPE9S2rTnTIccVr2bgQW", "8wIBAw=="),
    (1, "MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEAuPE9S2rTnTIccVr2bgQW", "8wIBAQ=="),
  ]

  private static let modulus = """
    kHV5YUtucrviSjl9mK983lDNUxRsHvdiugikIuk2uV1CSZHuz1vUlSLBE8/VPJ9m
    Xr7F3RVN3iYNR1R7X9qj8lV3DRHJ75HNzxaEU2use5iozcXrK8ToMeMjRiNCL1rM
    zzkLRMGuRoq7eXLq7kDkIfZ6YBRd0fBJLOBRb1Hmzh7837ImcOW41Uuc/8aBpZYz
    m8bUpFOS7AOJWcNJDVaBIHHXro8Jp9Rs6zIP7aOllY44RkXg9n1x39gwXO+ew3kq
    njKKG8DOYqdmEQ5sm7yK47fAS/ppdZLle0Xzfk/UlaH841V4G8wsJuASfH788yj2
    """

  @Test(arguments: exponents)
  func `an RSA key must have the exponent 65537, so that one modulus is one key`(
    exponent: Int, head: String, tail: String
  ) {
    let key = PublicKey(pem: Self.pem("\(head)\n\(Self.modulus)\n\(tail)"))
    #expect((key != nil) == (exponent == 65537))
  }

  @Test func `an RSA key with other line breaks in its PEM text is the same key`() throws {
    let whole = Self.exponents[0].head + Self.modulus + Self.exponents[0].tail
    let lines = whole.split(separator: "\n").joined()
    var narrow = ""
    for (index, letter) in lines.enumerated() {
      if index > 0, index % 32 == 0 { narrow += "\n" }
      narrow.append(letter)
    }
    let usual = try #require(
      PublicKey(pem: Self.pem("\(Self.exponents[0].head)\n\(Self.modulus)\n8wIDAQAB")))
    #expect(PublicKey(pem: Self.pem(narrow)) == usual)
  }

  // MARK: Ed25519

  /// Points of small order, for which anyone can sign, and numbers beyond the field's prime.
  private static let unsoundPoints: [String] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  @Test(arguments: unsoundPoints)
  func `an Ed25519 key of small order, or in a non-canonical encoding, is refused`(text: String)
    throws
  {
    var bytes = try #require(Hexadecimal.bytes(of: text))
    #expect(PublicKey(bytes: bytes) == nil)
    bytes[31] |= 0x80
    #expect(PublicKey(bytes: bytes) == nil)
  }

  @Test(arguments: 1...4)
  func `a forged signature does not satisfy a threshold, in any encoding of the neutral point`(
    threshold: Int
  ) throws {
    let ones = [
      "01\(String(repeating: "0", count: 62))", "01\(String(repeating: "0", count: 60))80",
    ]
    let beyond = ["7f", "ff"].map { "ee\(String(repeating: "f", count: 60))\($0)" }
    let objects = (ones + beyond).map { object("ed25519", "ed25519", $0) }
    // The neutral point and zero: 0·B = R + h·A for every message, if A is neutral.
    let forged = [1] + [UInt8](repeating: 0, count: 63)
    let bytes = try root(objects, threshold: threshold) { _ in forged }
    #expect(code { _ = try TrustedMetadata(root: bytes) } == .signatureInvalid)
  }

  @Test func `ordinary Ed25519 keys are accepted, including the largest numbers of the field`()
    throws
  {
    for _ in 0..<50 { #expect(try PublicKey(bytes: SigningKey.generate().publicKey.bytes) != nil) }
    // p - 3, the largest number of a point that is not of small order.
    let largest = "eaffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"
    #expect(PublicKey(bytes: try #require(Hexadecimal.bytes(of: largest))) != nil)
  }
}
