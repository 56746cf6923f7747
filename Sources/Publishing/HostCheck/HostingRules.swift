import HostedHTTPValues
import HostedModel
import HostedTransfer
import HostedTrust
import FoundationEssentials

/// The rules for the answers of a store's server; pure: the caller sends the requests.
enum HostingRules {
  /// The maximum seconds for which a cache may keep a file that changes.
  private static let cacheSeconds: Int64 = 60
  /// The minimum seconds for which a cache should keep a file that never changes.
  private static let keepSeconds: Int64 = 3600
  /// A certificate must be valid for this many seconds.
  private static let certificateSeconds: Int64 = 14 * 86_400
  /// Metadata of `role` must be valid for this many days.
  ///
  /// A publisher that renews metadata daily does it earlier.
  private static func metadataDays(_ role: MetadataName) -> Double {
    switch role {
    case .top(.root): 180
    case .top(.timestamp): 30
    case .top(.snapshot), .top(.targets), .delegated: 120
    }
  }

  // MARK: Samples

  /// Returns at most `count` elements at even distances, with the first and the last one.
  static func sample<Element>(_ elements: [Element], _ count: Int) -> [Element] {
    guard count > 1, elements.count > count else { return Array(elements.prefix(count)) }
    return (0..<count).map { elements[$0 * (elements.count - 1) / (count - 1)] }
  }

  // MARK: Connections

  /// Returns why no answer has arrived, or nil if there is one.
  static func connection(_ answer: TransferResponse, _ path: String) -> Finding? {
    guard let fault = answer.fault else { return nil }
    let error = ContentError(fault, from: answer.url, subject: path)
    let cause = error.cause.map { ": \($0)" } ?? ""
    switch fault.kind {
    case .redirectRefused where fault.detail.contains("downgrade"):
      return Finding(
        .error, .redirectToHTTP, path,
        "\(path) is redirected from https to http, which clients refuse",
        remedy: "nginx: return 301 https://$host$request_uri;")
    case .redirectRefused, .tooManyRedirects:
      return Finding(
        .error, .redirect, path, error.message + cause,
        remedy: "nginx: remove the directives return and rewrite from the store's locations")
    case .certificate, .hostName, .secureConnection, .handshakeTimeout:
      return Finding(
        .error, .secureConnection, path, error.message + cause,
        remedy: "nginx: ssl_certificate names a valid certificate of this host with all "
          + "intermediate certificates, and ssl_protocols TLSv1.2 TLSv1.3;")
    default:
      return Finding(
        .error, .transferFailed, path, error.message + cause, remedy: error.remedy)
    }
  }

  static func redirected(_ path: String, to url: WebURL) -> Finding {
    Finding(
      .note, .redirect, path, "\(path) is redirected to \(url), which costs time for each request",
      remedy: "Give clients the URL after the redirect")
  }

  /// Returns a warning if the certificate expires soon.
  static func certificate(_ answer: TransferResponse, now: Date) -> Finding? {
    guard let expiry = answer.certificateExpiry else { return nil }
    let seconds = expiry - Int64(now.timeIntervalSince1970)
    guard seconds < certificateSeconds else { return nil }
    return Finding(
      .warning, .certificateExpiresSoon, answer.url.origin,
      "The certificate of \(answer.url.host) expires on \(HTTPDate.text(expiry))",
      remedy: "Renew it, then nginx -s reload, and automate both")
  }

  // MARK: Files

  /// Returns why the answer is not the file at `path`, or nil if it may be.
  ///
  /// Ignores a body that ends early: the caller compares its length.
  static func file(_ answer: TransferResponse, _ path: String) -> Finding? {
    if answer.status == 0 { return connection(answer, path) }
    switch answer.status {
    case 200, 203, 206, 416: break
    case 404, 410:
      return Finding(
        .error, .fileMissing, path, "\(path) is missing (status \(answer.status))",
        remedy: "Upload it, targets before metadata. nginx: root names the store's folder")
    case 401, 403, 407:
      return Finding(
        .error, .accessDenied, path, "\(path) is denied (status \(answer.status))",
        remedy: "Make files (0644) and folders (0755) readable. nginx: allow all; or give the "
          + "check the clients' token")
    default:
      return Finding(
        .error, .status, path, "\(path) is answered with status \(answer.status)",
        remedy: "Read the server's log. nginx: error_log names its file")
    }
    if let encoding = answer.head.encoding {
      return Finding(
        .error, .compression, path,
        "\(path) is sent with Content-Encoding \(encoding.printable(limit: 60)), which clients "
          + "refuse",
        remedy: "nginx: gzip off; gzip_static off;")
    }
    if answer.status != 206, answer.isPage {
      return Finding(
        .error, .wrongBytes, path, "\(path) is answered with a web page instead of the file",
        remedy: "nginx: remove auth and fallback pages: try_files $uri =404;")
    }
    return nil
  }

  /// Returns a warning for the type of a web page.
  static func type(_ answer: TransferResponse, _ path: String) -> Finding? {
    guard answer.head.isPage, answer.status == 200 || answer.status == 206 else { return nil }
    return Finding(
      .warning, .pageType, path, "\(path) has the type of a web page, which proxies may change",
      remedy: "nginx: types { } default_type application/octet-stream;")
  }

  /// Returns a warning if a server that may compress does so.
  static func compression(_ answer: TransferResponse, _ path: String) -> Finding? {
    guard let encoding = answer.head.encoding else { return nil }
    return Finding(
      .warning, .compression, path,
      "\(path) is compressed (\(encoding.printable(limit: 60))) for programs that accept it, and "
        + "caches may send that to clients",
      remedy: "nginx: gzip off; gzip_static off;")
  }

  /// Returns the difference between the declared and the signed length.
  static func length(_ answer: TransferResponse, _ path: String, expected: Int64) -> Finding? {
    let found = answer.status == 200 ? answer.head.contentLength : answer.head.contentRange?.total
    if let found, found != expected { return wrongLength(path, found, expected: expected) }
    guard answer.status == 206, let range = answer.head.contentRange?.bytes,
      let length = answer.head.contentLength,
      length != Int64(range.count)
    else { return nil }
    return Finding(
      .error, .wrongLength, path,
      "A part of \(path) has Content-Length \(length), but its range has \(range.count) bytes",
      remedy: wrongLengthRemedy)
  }

  private static let wrongLengthRemedy =
    "Upload the file again, purge it from caches, and remove what rewrites files"

  /// A file has `found` bytes instead of `expected`.
  static func wrongLength(_ path: String, _ found: Int64, expected: Int64) -> Finding {
    Finding(
      .error, .wrongLength, path,
      "\(path) has \(found) bytes, but the signed length is \(expected)",
      remedy: wrongLengthRemedy)
  }

  /// A file, or a part of it, differs from what is signed.
  static func wrongBytes(_ path: String, from expected: String = "its signed digest") -> Finding {
    Finding(
      .error, .wrongBytes, path, "\(path) differs from \(expected)",
      remedy: "Upload the file again in binary mode, purge it from caches, and disable everything "
        + "that rewrites files. nginx: sub_filter and ssi off")
  }

  /// Returns a warning unless the answer has exactly `range` of a file of `length` bytes.
  static func range(
    _ answer: TransferResponse, _ path: String, _ range: Range<Int64>, length: Int64
  ) -> Finding? {
    let isWhole = range == 0..<length
    if answer.status == 206, answer.head.contentRange?.bytes == range { return nil }
    let label = (answer.headers["content-range"] ?? "none").printable(limit: 60)
    let found =
      switch answer.status {
      case 206: "another range (\(label))"
      case 416: "status 416"
      default: "the whole file"
      }
    return Finding(
      .warning, .rangesIgnored, path,
      "\(path) has no byte ranges: a request for \(isWhole ? "bytes" : "a part") was answered with "
        + "\(found), so clients fetch whole packages again",
      remedy: "nginx: remove max_ranges 0;, or add proxy_force_ranges on; for a proxied store")
  }

  /// Returns a warning if a client cannot know whether the file has changed.
  static func validators(_ answer: TransferResponse, _ path: String) -> Finding? {
    guard answer.status == 200 || answer.status == 206, answer.headers["etag"] == nil,
      answer.headers["last-modified"] == nil
    else { return nil }
    return Finding(
      .warning, .validatorsMissing, path,
      "\(path) has neither ETag nor Last-Modified, so caches cannot revalidate it",
      remedy: "nginx: etag on; and do not remove Last-Modified")
  }

  /// Returns a note unless the answer to HEAD has the file's length.
  static func head(_ answer: TransferResponse, _ path: String, length: Int64) -> Finding? {
    guard answer.status != 200 || answer.head.contentLength != length else { return nil }
    let found = answer.status == 200 ? "has another Content-Length" : "has status \(answer.status)"
    return Finding(
      .note, .headUnsupported, path, "HEAD of \(path) \(found); clients do not need it",
      remedy: "nginx: limit_except GET { deny all; } also allows HEAD")
  }

  // MARK: Caches

  /// Returns why a cache may keep the answer for `path`, whose content changes.
  ///
  /// Without headers, only an existing file is kept.
  static func cache(_ answer: TransferResponse, _ path: String, now: Date) -> Finding? {
    let remedy = "nginx: location /metadata/ { add_header Cache-Control \"no-cache\"; }"
    if let seconds = cacheLifetime(answer, now: now) {
      guard seconds > cacheSeconds else { return nil }
      return Finding(
        .error, .cacheable, path,
        "Caches may keep \(path) after it has changed (\(cacheHeader(answer)))", remedy: remedy)
    }
    guard answer.status == 200 else { return nil }
    return Finding(
      .warning, .cacheable, path,
      "\(path) is sent without a Cache-Control that limits how long caches keep it", remedy: remedy)
  }

  /// Returns a note if caches must not keep the answer for `path`, whose content never changes.
  static func uncached(_ answer: TransferResponse, _ path: String, now: Date) -> Finding? {
    guard let seconds = cacheLifetime(answer, now: now), seconds < keepSeconds else { return nil }
    return Finding(
      .note, .uncached, path,
      "Caches must not keep \(path), although it never changes (\(cacheHeader(answer)))",
      remedy: "nginx: location ~ /metadata/[^/]+\\.(bin-[0-9a-f]+|records)\\.jsonl?$ "
        + "{ add_header Cache-Control \"public, max-age=31536000, immutable\"; }")
  }

  /// Returns the seconds for which a cache may keep the answer; nil if no header says so.
  private static func cacheLifetime(_ answer: TransferResponse, now: Date) -> Int64? {
    let directives = Self.directives(answer.headers["cache-control"] ?? "")
    if directives["no-cache"] != nil || directives["no-store"] != nil { return 0 }
    if directives["immutable"] != nil { return .max }
    let age = (directives["s-maxage"] ?? directives["max-age"]).flatMap { Int64($0) }
    let expires = answer.headers["expires"].flatMap(HTTPDate.seconds)
      .map { $0 - Int64(now.timeIntervalSince1970) }
    return age ?? expires
  }

  /// Returns the header that `cacheLifetime` reads, for messages.
  private static func cacheHeader(_ answer: TransferResponse) -> String {
    (answer.headers["cache-control"].map { "Cache-Control: \($0)" } ?? "Expires")
      .printable(limit: 100)
  }

  /// Returns the directives of `Cache-Control` with their values.
  private static func directives(_ header: String) -> [String: String] {
    var found: [String: String] = [:]
    for part in header.lowercased().split(separator: ",") {
      let words = part.split(separator: "=", maxSplits: 1).map { word in
        String(word.filter { $0 != " " && $0 != "\t" && $0 != "\"" })
      }
      if let name = words.first { found[name] = words.count > 1 ? words[1] : "" }
    }
    return found
  }

  /// Returns a finding if a request with `no-cache` was answered by a cache.
  static func age(_ answer: TransferResponse, _ path: String) -> Finding? {
    guard let text = answer.headers["age"], let age = Int64(text), age > 0 else { return nil }
    return stale(
      age > cacheSeconds ? .error : .warning, path,
      "A cache answers requests for \(path) that demand the newest file, with one of \(age) s ago")
  }

  static func stale(
    _ severity: Finding.Severity, _ path: String, _ message: String
  ) -> Finding {
    Finding(
      severity, .staleTimestamp, path, message,
      remedy: "Exclude metadata/ from the cache, or purge it after each publication. "
        + "nginx: proxy_cache off; in location /metadata/")
  }

  // MARK: Metadata

  /// Returns a finding if the metadata of `role` has expired, or was not renewed in time.
  static func expiry(_ role: MetadataName, _ path: String, _ expires: Date, now: Date) -> Finding? {
    let date = HTTPDate.text(Int64(expires.timeIntervalSince1970))
    let remedy =
      role == .root
      ? "Sign a new root with the root keys, upload it, and repeat this each year"
      : "Renew and upload the metadata daily with a timer"
    if expires <= now {
      return Finding(
        .error, .expired, path, "The \(role.text) metadata has expired on \(date)", remedy: remedy)
    }
    guard expires < now.addingTimeInterval(metadataDays(role) * 86_400) else { return nil }
    return Finding(
      .warning, .expiresSoon, path,
      "The \(role.text) metadata was not renewed and expires on \(date)", remedy: remedy)
  }

  static func invalid(_ path: String, _ error: ContentError) -> Finding {
    Finding(
      .error, .metadataInvalid, path, "\(path) cannot be verified: \(error.message)",
      remedy: "Upload targets, then the rest of metadata, then timestamp.json, and new roots last")
  }

  /// The signed length of metadata is more than clients accept.
  static func tooLong(_ path: String, maximum: Int64) -> Finding {
    Finding(
      .error, .metadataInvalid, path,
      "\(path) is longer than \(maximum) bytes, the maximum that clients accept",
      remedy: "Sign all metadata again, and upload it")
  }

  /// The snapshot does not list the list `name` of the catalog.
  static func unlisted(_ name: MetadataName) -> Finding {
    Finding(
      .error, .metadataInvalid, name.fileName,
      "The snapshot metadata does not list \(name.fileName), so clients cannot read its products",
      remedy: "Sign all metadata again, and upload it")
  }

  /// A record has its signed digest, but clients cannot read it.
  static func unreadable(_ path: String, _ error: ContentError) -> Finding {
    Finding(
      .error, .metadataInvalid, path, "\(path) cannot be read: \(error.message)",
      remedy: "Publish the product again, and upload it")
  }

  static func rootMissing(_ path: String, _ consequence: String) -> Finding {
    Finding(
      .error, .rootMissing, path, "\(path) is missing: \(consequence)",
      remedy: "Upload every N.root.json of the store's metadata folder, and never delete one")
  }

  // MARK: Names that a store does not have, or must not show

  private static let missingRemedy = "nginx: try_files $uri =404; and no error_page with =200"

  /// Returns what is wrong with the answer for a missing file, or nil.
  ///
  /// `isAuthorized`: the request had a token or headers, so a client takes 403 for a wrong token.
  static func missing(
    _ answer: TransferResponse, _ path: String, askedFor url: WebURL, isAuthorized: Bool
  ) -> Finding? {
    if answer.status == 0 { return connection(answer, path) }
    let isRedirected = answer.url != url
    switch answer.status {
    case 404, 410: return nil
    case 403 where !isAuthorized:
      return Finding(
        .warning, .statusForMissingFile, path,
        "The missing \(path) is answered with status 403; clients with a token fail",
        remedy: "nginx: error_page 403 =404 /404;, or let clients list the bucket")
    case 200..<300 where !isRedirected:
      let page = answer.isPage || answer.head.isPage ? " and a web page" : ""
      return Finding(
        .error, .pageForMissingFile, path,
        "The missing \(path) is answered with status \(answer.status)\(page), so clients take it "
          + "for the next root",
        remedy: missingRemedy)
    default:
      let found =
        isRedirected
        ? "redirected to \(answer.url) (status \(answer.status))"
        : "answered with status \(answer.status)"
      return Finding(
        .error, .statusForMissingFile, path, "The missing \(path) is \(found) instead of 404",
        remedy: missingRemedy)
    }
  }

  /// Returns an error if the answer shows keys: a private key, the publisher's record, or a list.
  static func keys(_ answer: TransferResponse, _ path: String) -> Finding? {
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
    return Finding(
      .error, .keysReachable, path, "\(path) is public: anyone can read the store's keys",
      remedy: "Replace all keys, move the folder away, and serve only the store's own folder. "
        + "nginx: location ~ \\.keys(/|$) { return 404; }")
  }

  /// The start of hidden files that servers often publish by mistake.
  static let hiddenFiles = [".git/HEAD": "ref: ", ".git/config": "[core]", "apps.json": "{"]

  /// Returns a warning if the answer is the hidden file `name`.
  static func hidden(_ answer: TransferResponse, _ name: String) -> Finding? {
    guard answer.status == 200, let start = hiddenFiles[name],
      String(decoding: answer.body, as: UTF8.self).hasPrefix(start)
    else { return nil }
    let location =
      name.hasPrefix(".")
      ? "location ~ /\\. { return 404; }" : "location = /\(name) { return 404; }"
    return Finding(
      .warning, .hiddenFileReachable, name, "\(name) is public", remedy: "nginx: \(location)")
  }

  /// Returns a warning if the answer lists the folder `path`, which has `entry`.
  static func listing(_ answer: TransferResponse, _ path: String, has entry: String) -> Finding? {
    guard answer.status == 200, answer.isPage || answer.head.isPage,
      String(decoding: answer.body, as: UTF8.self).contains(entry)
    else { return nil }
    return Finding(
      .warning, .listing, path, "\(path) lists its files, including those that are not published",
      remedy: "nginx: autoindex off;")
  }
}
