import HostedFileIO
package import HostedHTTPValues
import HostedModel

/// A file as it is served: its bytes, its validators and its cache lifetime.
struct Representation: Sendable {
  var body: ServedBody
  /// A strong entity tag, and a date; a fault may change them.
  var validators: Validators
  let contentType: String
  let cacheControl: String

  /// The size of the file in bytes.
  var size: Int64 { body.length }

  init(_ file: OpenedFile, name: String) {
    body = ServedBody(file)
    let identity = file.status.identity
    // A digest in the name is a better validator than a time, and the same on every host.
    let digest = Self.digest(in: name)
    let tag =
      digest
      ?? "\(Self.hex(identity.size))-\(Self.hex(identity.modified))-\(Self.hex(identity.inode))"
    validators = Validators(
      entityTag: "\"\(tag)\"", modified: identity.modified / 1_000_000_000)
    contentType = Self.contentType(of: name)
    cacheControl =
      digest != nil || Self.isVersioned(name) ? "public, max-age=31536000, immutable" : "no-cache"
  }

  private static func contentType(of name: String) -> String {
    if name.hasSuffix(".json") { return "application/json" }
    // JSON Lines: the type is not registered, but common.
    if name.hasSuffix(".jsonl") { return "application/jsonl" }
    return "application/octet-stream"
  }

  private static func hex(_ number: some BinaryInteger) -> String { String(number, radix: 16) }

  /// The digest at the start of a name, such as that of a target or of a records file.
  private static func digest(in name: String) -> String? {
    let stem = String(name.prefix { $0 != "." })
    return stem != name && Digest(hex: stem)?.hex == stem ? stem : nil
  }

  /// Whether it is metadata of a consistent snapshot, such as `3.targets.json` or `3.bin-0f.json`.
  private static func isVersioned(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[2] == "json" && !parts[1].isEmpty && !parts[0].isEmpty
      && parts[0].utf8.allSatisfy(\.isDigit)
  }
}

/// The responses of a file server.
///
/// A `Transmission` says how a response is sent.
extension HTTPResponse<ServedBody> {
  /// Creates a response with `bytes` of `contentType`.
  ///
  /// Caches do not store it.
  package init(_ status: Int, contentType: String, _ bytes: [UInt8]) {
    self.init(
      status, headers: ["Content-Type": contentType, "Cache-Control": "no-store"],
      body: ServedBody(bytes))
  }

  /// Creates a response with one line of text.
  package init(_ status: Int, text: String) {
    self.init(status, contentType: "text/plain; charset=utf-8", Array("\(text)\n".utf8))
  }

  static var notFound: Self { Self(404, text: "Not found.") }
  static var malformed: Self { Self(400, text: HTTPRefusal.malformedTarget.reason) }

  /// Creates the response to `request`, a GET or HEAD, for `representation`.
  init(to request: HTTPRequest, of representation: Representation) {
    let validators = representation.validators
    switch Conditions.judge(request.headers, validators) {
    case .failed:
      self.init(412, text: "The file does not match the request's condition.")
      return
    // Its Content-Length, if any, is the length of the body that is not sent (RFC 9110, 8.6).
    case .notModified: self.init(304, body: representation.body)
    case .proceed:
      // A range only has a meaning with GET (RFC 9110, 14.2).
      let asked =
        request.method == "GET" && Conditions.rangeHolds(request.headers, validators)
        ? request.headers["range"] : nil
      switch ByteRange(asked, size: representation.size) {
      case .whole: self.init(200, body: representation.body)
      case .unsatisfiable:
        self.init(416, text: "The range is beyond the end of the file.")
        let place = ContentRange(bytes: nil, total: representation.size)
        headers["Content-Range"] = place.text
        body.place = place
        return
      case .part(let range):
        self.init(206, body: representation.body)
        body.range = range
        show(ContentRange(bytes: range, total: representation.size))
      }
      headers["Content-Type"] = representation.contentType
      headers["Accept-Ranges"] = "bytes"
    }
    if body.place == nil { body.place = ContentRange(bytes: nil, total: representation.size) }
    headers["ETag"] = validators.entityTag
    headers["Last-Modified"] = validators.modified.map(HTTPDate.text)
    headers["Cache-Control"] = representation.cacheControl
  }

  /// Declares `place` as the part of the file in the body, and sets Content-Range.
  mutating func show(_ place: ContentRange) {
    body.place = place
    headers["Content-Range"] = place.text
  }
}
