import FoundationEssentials
import HostedCCrypto
import HostedDigests
package import HostedModel

extension KeyKind {
  /// The names of the algorithm that signs receipts, the usual one first; empty for RSA.
  ///
  /// A key is used with one algorithm only (RFC 8725, 3.1).
  fileprivate var algorithms: [String] {
    switch self {
    // RFC 8037 and RFC 9864.
    case .ed25519: ["EdDSA", "Ed25519"]
    // RFC 7518.
    case .ecdsaP256: ["ES256"]
    case .rsaPSS: []
    }
  }

  /// Whether keys of this kind can sign receipts.
  package var signsReceipts: Bool { !algorithms.isEmpty }
}

/// A JSON Web Signature in compact form (RFC 7515), parsed but not verified.
package struct JSONWebSignature: Sendable {
  /// The maximum length of the text, in bytes.
  package static let maximumLength = 16 << 10
  private static let maximumMembers = 64

  private let header: JSONValue
  private let payload: [UInt8]
  private let message: [UInt8]
  private let signature: [UInt8]

  /// The identifier of the signing key, if the header has one.
  ///
  /// It is not authenticated: a hint only.
  package var keyIdentifier: String? { header["kid"]?.string }

  package var hasType: Bool { header["typ"] != nil }

  /// Whether the header's `typ` is this media type.
  ///
  /// The prefix `application/` is optional (RFC 7515, 4.1.9).
  package func isOfType(_ type: String) -> Bool {
    let named = header["typ"]?.string?.lowercased()
    return named == type || named == "application/\(type)"
  }

  /// Parses three base64url parts.
  ///
  /// Throws `receiptInvalid` for anything else. The header is strict JSON without duplicate
  /// members. A header with required extensions (`crit`) or with a key is refused, because the
  /// header is not authenticated yet.
  package init(_ text: String) throws {
    guard text.utf8.count <= Self.maximumLength else {
      throw ContentError.receiptInvalid("it has more than \(Self.maximumLength) bytes")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Base64URL.bytes(of: parts[0]),
      let payload = Base64URL.bytes(of: parts[1]), let signature = Base64URL.bytes(of: parts[2])
    else { throw ContentError.receiptInvalid("it does not have three parts in base64url") }
    header = try Self.object(head, "its header")
    for member in ["crit", "jwk", "jku", "x5c", "x5u"] where header[member] != nil {
      throw ContentError.receiptInvalid("its header has \(member)")
    }
    self.payload = payload
    self.signature = signature
    message = Array("\(parts[0]).\(parts[1])".utf8)
  }

  /// Returns the claims if `key` has signed them; throws `receiptInvalid` otherwise.
  ///
  /// The key determines the algorithm. A header that names another algorithm is refused.
  package func claims(
    verifiedBy key: PublicKey, rules: JSONRules = .canonical
  ) throws -> JSONValue {
    let named = header["alg"]?.string ?? ""
    guard key.kind.algorithms.contains(named) else {
      throw ContentError.receiptInvalid(
        "its algorithm “\(named.prefix(40))” is not the algorithm of the key")
    }
    let bytes = key.kind == .ecdsaP256 ? ECDSASignature.der(ofRaw: signature) : signature
    guard let bytes, try key.verifies(bytes, of: message) else {
      throw ContentError.receiptInvalid("its signature does not match the key")
    }
    return try Self.object(payload, "its content", rules)
  }

  private static func object(
    _ bytes: [UInt8], _ place: String, _ rules: JSONRules = .canonical
  ) throws -> JSONValue {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: bytes, limit: maximumLength, rules: rules)
    } catch {
      throw ContentError.receiptInvalid("\(place) has \(error)")
    }
    guard case .object(let members) = value, members.count <= maximumMembers else {
      throw ContentError.receiptInvalid(
        "\(place) is not an object of at most \(maximumMembers) members")
    }
    return value
  }

  /// Signs `claims`.
  ///
  /// The header's `typ` is `type`. Throws `keyUnusable` for an RSA key.
  package static func sign(_ claims: JSONValue, as type: String, with key: SigningKey) throws
    -> String
  {
    let kind = key.publicKey.kind
    guard let algorithm = kind.algorithms.first else {
      throw ContentError(
        .keyUnusable, "Cannot sign a receipt with an RSA key",
        remedy: "Use an Ed25519 or ECDSA P-256 key")
    }
    let header = JSONValue.object([
      "alg": .string(algorithm), "typ": .string(type),
      "kid": .string(key.publicKey.identifier),
    ])
    let message = "\(Base64URL.text(of: header.encoded)).\(Base64URL.text(of: claims.encoded))"
    let bytes = try key.sign(Array(message.utf8))
    guard let signature = kind == .ecdsaP256 ? ECDSASignature.raw(ofDER: bytes) : bytes else {
      throw ContentError.crypto("d2i_ECDSA_SIG")
    }
    return "\(message).\(Base64URL.text(of: signature))"
  }
}

/// The two forms of an ECDSA signature over P-256: DER, and two concatenated numbers.
enum ECDSASignature {
  private static let width = 32

  /// The DER form of a 64-byte signature; nil for another length.
  static func der(ofRaw raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 2 * width else { return nil }
    // An INTEGER is as short as possible; a first byte above 0x7f would be a negative one.
    let numbers = [raw.prefix(width), raw.suffix(width)].flatMap { half -> [UInt8] in
      var number = Array(half.drop(while: { $0 == 0 }))
      if (number.first ?? 0xff) > 0x7f { number.insert(0, at: 0) }
      return [0x02, UInt8(number.count)] + number
    }
    // A SEQUENCE of both.
    return [0x30, UInt8(numbers.count)] + numbers
  }

  /// The 64-byte form of a DER signature; nil if it is not a signature.
  static func raw(ofDER der: [UInt8]) -> [UInt8]? {
    let pair = der.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return d2i_ECDSA_SIG(nil, &start, buffer.count)
    }
    guard let pair else { return nil }
    defer { ECDSA_SIG_free(pair) }
    var raw = [UInt8](repeating: 0, count: 2 * width)
    let isWritten = raw.withUnsafeMutableBufferPointer { buffer in
      BN_bn2binpad(ECDSA_SIG_get0_r(pair), buffer.baseAddress, Int32(width)) == width
        && BN_bn2binpad(
          ECDSA_SIG_get0_s(pair), buffer.baseAddress.map { $0 + width }, Int32(width)) == width
    }
    return isWritten ? raw : nil
  }
}

extension ContentError {
  /// `reason` is a clause.
  package static func receiptInvalid(_ reason: String) -> ContentError {
    ContentError(
      .receiptInvalid, "The receipt is invalid: \(reason)",
      remedy: "Request a new receipt from the seller. Do not deliver anything for this one")
  }
}

/// The base64url encoding without padding (RFC 4648, section 5; RFC 7515, section 2).
package enum Base64URL {
  package static func text(of bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString(options: [.base64URLAlphabet, .omitPaddingCharacter])
  }

  /// Decodes `text`.
  ///
  /// Returns nil for padding, other characters, or unused bits that are not zero. No two texts
  /// therefore decode to the same bytes.
  package static func bytes(of text: some StringProtocol) -> [UInt8]? {
    // Foundation only decodes the standard alphabet, with padding.
    var standard = Data(
      text.utf8.map { character in
        switch character {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: character
        }
      })
    standard.append(
      contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - standard.count % 4) % 4))
    guard let bytes = Data(base64Encoded: standard).map(Array.init),
      self.text(of: bytes).utf8.elementsEqual(text.utf8)
    else { return nil }
    return bytes
  }
}
