import ContentModel
import FoundationEssentials

/// Where an update can be had, as a server or a push wrote it; judged before it is handed to an
/// app, which opens it.
struct DownloadLink: Hashable, Sendable {
  let url: URL

  /// Schemes of stores' own programs, which check what they install.
  private static let storeSchemes: Set<String> = [
    "itms", "itmss", "itms-apps", "itms-appss", "itms-beta", "macappstore", "macappstores",
    "market",
  ]
  private static let itmsServices = "itms-services"
  /// Bytes.
  private static let longest = 2000

  /// Takes a link to a store or a web page; nil for others, such as `javascript` and `file`, and
  /// for more than 2,000 bytes.
  init?(_ url: URL?) {
    guard let url, let scheme = url.scheme?.lowercased(),
      Self.storeSchemes.contains(scheme) || ["https", "http", Self.itmsServices].contains(scheme),
      url.absoluteString.utf8.count <= Self.longest
    else { return nil }
    self.url = url
  }

  /// Takes the link that a server wrote in a field.
  init?(_ field: JSONField?) {
    guard case .text(let text)? = field, text.utf8.count <= Self.longest else { return nil }
    self.init(URL(string: text))
  }

  /// The link if it may be opened; else throws `insecureConnectionRefused`.
  ///
  /// HTTP is only for this machine. A link of `itms-services` installs what the manifest names that
  /// it leads to, so it must be allowed, and the manifest must be at an HTTPS URL.
  func permitted(itmsServices isAllowed: Bool = false) throws -> URL {
    switch url.scheme?.lowercased() {
    case Self.itmsServices?:
      guard isAllowed else {
        throw refused("would install past the store", "Allow itms-services in the update policy")
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

  /// What `itms-services` is to install; nil unless exactly one is named.
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
  /// The link of an offer if it may be opened.
  func link(_ url: URL?) -> URL? {
    try? DownloadLink(url)?.permitted(itmsServices: allowsItmsServices)
  }

  /// Why the link of an offer is left out of a decision: `insecureConnectionRefused`; nil if it is
  /// kept.
  package func refusal(ofLinkIn offer: UpdateOffer) -> ContentError? {
    do {
      _ = try DownloadLink(offer.downloadURL)?.permitted(itmsServices: allowsItmsServices)
      return nil
    } catch { return error as? ContentError }
  }
}
