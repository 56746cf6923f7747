import HostedDigests
import FoundationEssentials

/// Signatures of requests, as in Standard Webhooks 1.0.
package enum WebhookSignature {
  /// Returns the value of the header `webhook-signature`.
  package static func text(
    id: String, timestamp: String, body: [UInt8], secret: [UInt8]
  ) throws -> String {
    let code = try HMAC.sha256(Array("\(id).\(timestamp).".utf8) + body, key: secret)
    return "v1,\(Data(code).base64EncodedString())"
  }
}

/// The secret of a webhook.
package enum WebhookSecret {
  /// Returns the bytes of a secret: base64 after `whsec_`, or else the text itself.
  package static func bytes(_ text: String) -> [UInt8] {
    let prefix = "whsec_"
    guard text.hasPrefix(prefix),
      let data = Data(base64Encoded: String(text.dropFirst(prefix.count)))
    else { return Array(text.utf8) }
    return Array(data)
  }
}
