import HostedModel
import HostedTrust
import HostedDigests

/// The signature in a URL of the content host, for one file until a time.
enum GrantSignature {
  /// Returns the grant for nginx's module auth_request: the time, the account's code and the MAC.
  static func grant(
    _ path: String, account: AccountID, expires: Int64, secret: [UInt8]
  ) throws -> String {
    // A plain digest would make it possible to guess the account.
    let code = Hexadecimal.text(
      of: try HMAC.sha256(Array("account\n\(account)".utf8), key: secret).prefix(codeLength))
    let mac = try mac(path, "\(expires)", code, secret)
    return "\(expires).\(code).\(Base64URL.text(of: mac))"
  }

  private static let codeLength = 8

  /// Returns the time until which `grant` allows `path`; nil if it was not created for it.
  static func expiry(of grant: String, path: String, secret: [UInt8]) throws -> Int64? {
    let parts = grant.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    // No field can contain the separator of the MAC's message.
    guard grant.utf8.count <= 200, parts.count == 3, let expires = Int64(parts[0]),
      Hexadecimal.bytes(of: parts[1])?.count == codeLength,
      let found = Base64URL.bytes(of: parts[2])
    else { return nil }
    let expected = try mac(path, parts[0], parts[1], secret)
    return HMAC.isEqual(found, expected) ? expires : nil
  }

  private static func mac(
    _ path: String, _ expires: String, _ code: String, _ secret: [UInt8]
  ) throws -> [UInt8] {
    try HMAC.sha256(Array("grant\n\(path)\n\(expires)\n\(code)".utf8), key: secret)
  }

  /// Returns the query for nginx's module secure_link.
  ///
  /// nginx's rule is `secure_link_md5 "$secure_link_expires$uri SECRET"`. nginx counts whole
  /// seconds, and accepts the URL until the end of the second `expires`.
  static func secureLink(_ uri: String, until end: Int64, secret: [UInt8]) throws -> String {
    let expires = end - 1
    let message = Array("\(expires)\(uri) ".utf8) + secret
    let code = Base64URL.text(of: try DigestStream.bytes(.md5, of: message))
    return "?md5=\(code)&expires=\(expires)"
  }
}
