import HostedHTTPValues
import HostedModel
import HostedTransfer

/// Names that the store does not have, or must not show.
extension HostingCheck {
  /// The maximum bytes of a page that is searched for names.
  private static let pageLimit: Int64 = 256 << 10

  /// Asks for missing files, keys, hidden files, lists and other spellings.
  mutating func checkNames() throws {
    let name = randomIdentifier()
    for path in ["metadata/\(name).json", "targets/\(name)/\(name).content.pkg"] {
      let answer = try answer(for: path, limit: 1024)
      report.add(
        HostingRules.missing(
          answer, path, askedFor: try store.appending(path), isAuthorized: isAuthorized))
    }
    try checkKeys()
    for name in HostingRules.hiddenFiles.keys.sorted() {
      report.add(HostingRules.hidden(try answer(for: name, limit: 1024), name))
    }
    guard let timestamp else { return }
    try checkListing("metadata/", has: "timestamp.json")
    try checkSpellings(timestamp)
  }

  mutating func checkListing(_ path: String, has entry: String) throws {
    let answer = try answer(for: path, limit: Self.pageLimit)
    report.add(HostingRules.listing(answer, path, has: entry))
  }

  /// The store's URL in two parts: without a slash at its end, and the query.
  private var address: (base: Substring, query: Substring) {
    var (base, query) = store.parts
    while base.hasSuffix("/") { base = base.dropLast() }
    return (base, query)
  }

  /// Asks for keys beside and below the store.
  private mutating func checkKeys() throws {
    let (base, query) = address
    var folders = ["\(base)/store.keys", "\(base)/keys"]
    // The folder beside the store has a URL only if the store's URL has a path.
    if base.dropFirst("\(store.scheme)://".count).contains("/") {
      folders.insert("\(base).keys", at: 0)
    }
    for folder in folders {
      for name in ["timestamp.pem", "targets.pem", "root/root.pem", "published.json", ""] {
        let url = try WebURL("\(folder)/\(name)\(query)")
        let answer = try answer(to: TransferRequest(url, limit: Int(Self.pageLimit)))
        // One file is enough to say so.
        if report.add(HostingRules.keys(answer, url.description)) { break }
      }
    }
  }

  /// Asks for the timestamp in upper case, and with a percent-encoded letter.
  private mutating func checkSpellings(_ timestamp: [UInt8]) throws {
    let (base, query) = address
    let encoded = try WebURL("\(base)/metadata/%74imestamp.json\(query)")
    let limit = timestamp.count + 1024
    let decoded = try answer(to: TransferRequest(encoded, headers: Self.noCache, limit: limit))
    if decoded.status != 200 {
      report.add(
        HostingFinding(
          .warning, .percentEncoding, encoded.description,
          "The server does not decode percent-encoded letters in names (status \(decoded.status))",
          remedy: "nginx: do not build file names from $request_uri; use $uri"))
    }
    let path = "metadata/TIMESTAMP.JSON"
    let upper = try answer(for: path, headers: Self.noCache, limit: Int64(limit))
    if upper.status == 200, upper.body == timestamp {
      report.add(
        HostingFinding(
          .note, .caseIgnored, path,
          "The server ignores the case of names, so identifiers that differ only in case collide",
          remedy: "Store the files on a file system that distinguishes case"))
    }
  }
}
