import FoundationEssentials
import HostedTransfer

/// The link to an update, from a server or a push; it is checked before an app may open it.
struct DownloadLink: Hashable, Sendable {
  let url: URL

  /// The schemes of store apps, which verify what they install.
  private static let storeSchemes: Set<String> = [
    "itms", "itmss", "itms-apps", "itms-appss", "itms-beta", "macappstore", "macappstores",
    "market",
  ]
  private static let itmsServices = "itms-services"
  /// The maximum length in bytes.
  private static let maximumLength = 2000

  /// Creates a link to a store or a web page.
  ///
  /// Returns nil for other schemes, such as `javascript` and `file`, and for more than 2,000 bytes.
  init?(_ url: URL?) {
    guard let url, let scheme = url.scheme?.lowercased(),
      Self.storeSchemes.contains(scheme) || ["https", "http", Self.itmsServices].contains(scheme),
      url.absoluteString.utf8.count <= Self.maximumLength
    else { return nil }
    self.url = url
  }

  init?(_ field: JSONValue?) {
    guard case .string(let text)? = field, text.utf8.count <= Self.maximumLength else { return nil }
    self.init(URL(string: text))
  }

  /// Returns the link if it is permitted.
  ///
  /// Throws `insecureConnectionRefused` otherwise. HTTP is only permitted to this machine. A link
  /// of `itms-services` installs from a manifest, so it must be allowed by the policy, and the
  /// manifest must have an HTTPS URL.
  func permitted(itmsServices isAllowed: Bool = false) throws -> URL {
    switch url.scheme?.lowercased() {
    case Self.itmsServices?:
      guard isAllowed else {
        throw refused("would bypass the store", "Allow itms-services in the update policy")
      }
      guard let manifest, manifest.scheme?.lowercased() == "https", manifest.isOfSecureServer else {
        throw refused("has no manifest at an HTTPS URL", "Use an https URL for the manifest")
      }
    case "https"?, "http"?:
      guard url.isOfSecureServer else { throw refused("is not secure", "Use an https URL") }
    default: break
    }
    return url
  }

  /// The manifest of an `itms-services` link; nil unless there is exactly one.
  private var manifest: URL? {
    let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
    let named = items.filter { $0.name.lowercased() == "url" }
    return named.count == 1 ? named[0].value.flatMap { URL(string: $0) } : nil
  }

  private func refused(_ why: String, _ remedy: String) -> ContentError {
    ContentError(
      .insecureConnectionRefused,
      "The update's link \(url.absoluteString.printable(limit: 200)) \(why)", remedy: remedy,
      subject: url.absoluteString)
  }
}

extension AppUpdatePolicy {
  func link(_ url: URL?) -> URL? {
    try? DownloadLink(url)?.permitted(itmsServices: allowsITMSServices)
  }

  /// The error if the link of an offer is not permitted (`insecureConnectionRefused`); nil
  /// otherwise.
  package func refusal(ofLinkIn offer: UpdateOffer) -> ContentError? {
    do {
      _ = try DownloadLink(offer.downloadURL)?.permitted(itmsServices: allowsITMSServices)
      return nil
    } catch { return error as? ContentError }
  }
}

extension WebURL {
  /// Whether the connection is protected against other machines: HTTPS, or this machine.
  fileprivate var isOfSecureServer: Bool { isSecure || isLoopback }

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
  fileprivate var isOfSecureServer: Bool {
    guard let host = host(), !host.isEmpty else { return false }
    return (try? WebURL(absoluteString))?.isOfSecureServer ?? false
  }
}
