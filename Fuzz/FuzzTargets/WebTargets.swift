import HostedHTTPValues
import AppUpdate
import HostedModel
import HostedTrust
import HostedTransfer
import FoundationEssentials
import HostedFileServer

/// Unsigned network data, and text files written by people.
extension FuzzTarget {
  private static let now = Date(timeIntervalSince1970: 1_768_478_400)

  /// Parses the bytes as a response head, a request target, request ranges and a fault script.
  static func web(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = try? FaultScript(text)
    _ = try? WebURL(text)
    _ = RetryPolicy.retryAfter(text, now: now)
    return answer(bytes) ?? request(text)
  }

  /// An accepted head must place its body inside the file, at the requested range.
  private static func answer(_ bytes: [UInt8]) -> String? {
    var collector = HeadCollector(limit: 4096)
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard line.withUnsafeBytes({ collector.add($0) }) else { break }
    }
    for isWhole in [true, false] {
      let question = RangeQuestion(
        range: isWhole ? 0..<1000 : 200..<300, isWhole: isWhole, fileLength: 1000,
        validator: isWhole ? nil : "\"a\"")
      guard let place = try? RangeAnswer.judge(collector.head, question, now: now)
      else { continue }
      let bytes = place.start..<max(place.start, place.end)
      guard bytes.overlaps(question.range), bytes.clamped(to: 0..<1000) == bytes else {
        return "An answer was taken for bytes \(place.start) to \(place.end) of 1000"
      }
    }
    return nil
  }

  /// An accepted target is inside the root, and a range inside the file.
  private static func request(_ text: String) -> String? {
    let request = HTTPRequest("GET", text, headers: ["Range": text])
    let parts = request.location?.components ?? []
    guard !parts.contains(where: { $0.utf8.contains(0) || $0.contains("/") }) else {
      return "A component of a path has a slash or a NUL in it"
    }
    guard case .part(let range) = ByteRange(text, size: 1000) else { return nil }
    return !range.isEmpty && range.clamped(to: 0..<1000) == range
      ? nil : "A range of \(range) was taken of 1000 bytes"
  }

  /// Parses the bytes as a feed, a look-up response, a version response, a catalog and a version.
  static func apps(_ bytes: [UInt8]) -> String? {
    _ = (try? LookupResults(json: bytes))?.listings.map { ($0.versionText, $0.trackViewURL) }
    if let answer = try? AppVersionAnswer(json: bytes) {
      _ = (answer.requestedAction, answer.version, answer.downloadURL, answer.minimumOSVersion)
    }
    if let catalog = try? AppCatalog(json: bytes),
      catalog.apps.contains(where: { $0.listing.versionText == nil })
    {
      return "An app without a version was accepted"
    }
    if let version = try? AppVersion(validating: String(decoding: bytes, as: UTF8.self)),
      (try? AppVersion(validating: version.rawValue)) != version
    {
      return "A version is not what it says"
    }
    return feed(bytes)
  }

  /// The rows of a feed do not depend on how it is split into chunks.
  private static func feed(_ bytes: [UInt8]) -> String? {
    let whole = rows(of: bytes, chunk: max(1, bytes.count))
    return [1, 3].allSatisfy { rows(of: bytes, chunk: $0) == whole }
      ? nil : "Rows depend on how the feed was split"
  }

  /// Returns the fields of all rows; nil if the feed is refused.
  private static func rows(of bytes: [UInt8], chunk: Int) -> [[String]]? {
    var rows = FeedRows(path: "fuzzed", limit: 64)
    var found: [[String]] = []
    var rest: [UInt8] = []
    do {
      for start in stride(from: 0, to: bytes.count, by: chunk) {
        rest += bytes[start..<min(start + chunk, bytes.count)]
        let taken = try rest.withUnsafeBytes { buffer in
          try rows.take(buffer) { row in
            found.append((0..<3).map { String(decoding: row.field(at: $0), as: UTF8.self) })
            return true
          }
        }
        rest.removeFirst(taken ?? 0)
      }
      try rows.finish(rest: rest.count)
    } catch {
      return nil
    }
    return found
  }

  /// Decoded data can be encoded and decoded again.
  static func records(_ bytes: [UInt8]) -> String? {
    let product: ProductIdentifier = "a"
    guard let record = try? CatalogRecord(json: bytes, of: product) else { return nil }
    return (try? CatalogRecord(json: record.json, of: product)) == record
      ? nil : "The encoded value differs from the decoded one"
  }
}
