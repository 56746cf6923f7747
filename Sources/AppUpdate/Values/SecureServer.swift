import HostedModel
import HostedTransfer
import FoundationEssentials

extension WebURL {
  /// Whether the connection is protected against other machines: HTTPS, or this machine.
  var isOfSecureServer: Bool { isSecure || isLoopback }

  /// Throws `insecureConnectionRefused` unless the server is secure, because an answer may force an
  /// update.
  func checkSecure() throws {
    guard !isOfSecureServer else { return }
    throw ContentError(
      .insecureConnectionRefused,
      "Cannot check for updates at \(origin): the connection is insecure",
      remedy: "Use an https URL. http is only permitted for this machine", subject: origin)
  }
}

extension URL {
  /// Whether it is a web page or server that others on the network cannot change.
  var isOfSecureServer: Bool {
    guard let host = host(), !host.isEmpty else { return false }
    return (try? WebURL(absoluteString))?.isOfSecureServer ?? false
  }
}
