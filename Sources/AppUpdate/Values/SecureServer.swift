import ContentModel
import ContentTransfer
import FoundationEssentials

extension WebURL {
  /// Whether nobody on the network can read or change what it answers: HTTPS, or this machine
  /// itself.
  var isOfSecureServer: Bool { isSecure || isLoopback }

  /// Throws `insecureConnectionRefused` unless it is of a secure server: what is answered about
  /// updates may force one on the user.
  func checkSecure() throws {
    guard !isOfSecureServer else { return }
    throw ContentError(
      .insecureConnectionRefused, "\(origin) is not secure, so it is not asked about updates",
      remedy: "Use an https URL; http is only for this machine", subject: origin)
  }
}

extension URL {
  /// Whether it is a web page or server that nobody on the network can change.
  var isOfSecureServer: Bool {
    guard let host = host(), !host.isEmpty else { return false }
    return (try? WebURL(absoluteString))?.isOfSecureServer ?? false
  }
}
