import HostedHTTPValues
import HostedModel
import HostedTransfer

/// The rules for names that a store does not have, or must not show.
extension HostingRules {
  /// The remedy for wrong answers about missing files.
  private static let missingRemedy = "nginx: try_files $uri =404; and no error_page with =200"

  /// Returns what is wrong with the answer for a missing file, or nil.
  ///
  /// `isAuthorized`: the request had a token or headers, so a client takes 403 for a wrong token.
  static func missing(
    _ answer: TransferResponse, _ path: String, askedFor url: WebURL, isAuthorized: Bool
  ) -> HostingFinding? {
    if answer.status == 0 { return connection(answer, path) }
    let isRedirected = answer.url != url
    switch answer.status {
    case 404, 410: return nil
    case 403 where !isAuthorized:
      return HostingFinding(
        .warning, .statusForMissingFile, path,
        "The missing \(path) is answered with status 403; clients with a token fail",
        remedy: "nginx: error_page 403 =404 /404;, or let clients list the bucket")
    case 200..<300 where !isRedirected:
      let page = answer.isPage || answer.head.isPage ? " and a web page" : ""
      return HostingFinding(
        .error, .pageForMissingFile, path,
        "The missing \(path) is answered with status \(answer.status)\(page), so clients take it "
          + "for the next root",
        remedy: missingRemedy)
    default:
      let found =
        isRedirected
        ? "redirected to \(answer.url) (status \(answer.status))"
        : "answered with status \(answer.status)"
      return HostingFinding(
        .error, .statusForMissingFile, path, "The missing \(path) is \(found) instead of 404",
        remedy: missingRemedy)
    }
  }

  /// Returns an error if the answer shows keys: a private key, the publisher's record, or a list.
  static func keys(_ answer: TransferResponse, _ path: String) -> HostingFinding? {
    guard answer.status == 200 || answer.status == 206 else { return nil }
    let text = String(decoding: answer.body, as: UTF8.self)
    let isShown =
      if path.hasSuffix(".pem") {
        text.contains("-----BEGIN")
      } else if path.hasSuffix(".json") {
        // A server may answer with JSON for each missing file.
        text.hasPrefix("{") && text.contains("\"firstRoot\"")
      } else {
        text.contains(".pem")
      }
    guard isShown else { return nil }
    return HostingFinding(
      .error, .keysReachable, path, "\(path) is public: anyone can read the store's keys",
      remedy: "Replace all keys, move the folder away, and serve only the store's own folder. "
        + "nginx: location ~ \\.keys(/|$) { return 404; }")
  }

  /// The start of hidden files that servers often publish by mistake.
  static let hiddenFiles = [".git/HEAD": "ref: ", ".git/config": "[core]", "apps.json": "{"]

  /// Returns a warning if the answer is the hidden file `name`.
  static func hidden(_ answer: TransferResponse, _ name: String) -> HostingFinding? {
    guard answer.status == 200, let start = hiddenFiles[name],
      String(decoding: answer.body, as: UTF8.self).hasPrefix(start)
    else { return nil }
    let location =
      name.hasPrefix(".")
      ? "location ~ /\\. { return 404; }" : "location = /\(name) { return 404; }"
    return HostingFinding(
      .warning, .hiddenFileReachable, name, "\(name) is public", remedy: "nginx: \(location)")
  }

  /// Returns a warning if the answer lists the folder `path`, which has `entry`.
  static func listing(_ answer: TransferResponse, _ path: String, has entry: String)
    -> HostingFinding?
  {
    guard answer.status == 200, answer.isPage || answer.head.isPage,
      String(decoding: answer.body, as: UTF8.self).contains(entry)
    else { return nil }
    return HostingFinding(
      .warning, .listing, path, "\(path) lists its files, including those that are not published",
      remedy: "nginx: autoindex off;")
  }
}
