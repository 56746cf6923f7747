import FoundationEssentials

/// Where an update can be had: links that come from a server or a push, and are opened by an app.
enum DownloadLink {
  /// Schemes that lead to a store or a web page; others, such as `javascript` and `file`, do not.
  private static let schemes: Set<String> = [
    "https", "http", "itms", "itmss", "itms-apps", "itms-appss", "itms-services", "itms-beta",
    "macappstore", "macappstores", "market",
  ]

  /// `url` if it may be handed to whoever opens links; at most 2,000 bytes.
  static func checked(_ url: URL?) -> URL? {
    guard let url, let scheme = url.scheme?.lowercased(), schemes.contains(scheme),
      url.absoluteString.utf8.count <= 2000
    else { return nil }
    return url
  }

  /// The link that a server wrote in a field.
  static func read(_ field: JSONField?) -> URL? {
    guard case .text(let text)? = field, text.utf8.count <= 2000 else { return nil }
    return checked(URL(string: text))
  }
}
