import HostedModel
package import HostedTransfer
public import FoundationEssentials

/// The location of a store: a folder, its `file://` URL, or an `http://` or `https://` URL.
public struct StoreLocation: Hashable, Sendable, CustomStringConvertible {
  package enum Place: Hashable, Sendable {
    case folder(String)
    case web(WebURL)
  }

  package let place: Place

  /// Parses a path or a URL; throws `usage` if it is invalid or of another scheme.
  public init(_ text: String) throws {
    guard let colon = text.firstRange(of: "://") else {
      place = .folder(try Self.checked(path: text, of: text))
      return
    }
    switch text[..<colon.lowerBound].lowercased() {
    case "http", "https": place = .web(try WebURL(text))
    case "file":
      guard let url = URL(string: text), ["", "localhost"].contains(url.host() ?? "") else {
        throw Self.unreadable(text)
      }
      place = .folder(try Self.checked(path: url.path(percentEncoded: false), of: text))
    default: throw Self.unreadable(text)
    }
  }

  /// Creates a location from a URL; throws `usage` if it is invalid or of another scheme.
  public init(_ url: URL) throws { try self.init(url.absoluteString) }

  /// Returns `path`; throws `usage` about `text` if the system would open another path.
  private static func checked(path: String, of text: String) throws -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw unreadable(text) }
    return path
  }

  private static func unreadable(_ text: String) -> ContentError {
    ContentError(
      .usage, "The store location “\(text.printable(limit: 200))” is invalid",
      remedy: "Use a folder, or a file://, http:// or https:// URL",
      subject: text.printable(limit: 200))
  }

  /// The path or URL without the query, which may contain a secret signature.
  public var description: String {
    switch place {
    case .folder(let path): path
    case .web(let url): url.description
    }
  }
}
