import HostedModel

/// Checks of a property list from outside before the decoder reads it.
///
/// The decoder reads data that are neither XML nor binary as an old-style property list. It
/// recurses into nested lists without a limit, until the stack overflows.
enum PropertyListShape {
  static let depthLimit = 64
  static let tooDeep = ContentInfo.invalid("it is nested too deeply")

  /// Throws `contentInfoInvalid` unless `bytes` may be decoded.
  static func check(_ bytes: [UInt8]) throws {
    guard bytes.count <= ContentInfo.maximumLength else {
      throw ContentInfo.invalid("it has \(bytes.count) bytes; the limit is 1 MiB")
    }
    if bytes.starts(with: Array("bplist00".utf8)) { return try BinaryListShape.check(bytes) }
    let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = (bytes.starts(with: byteOrderMark) ? bytes[3...] : bytes[...])
      .drop { $0 == 32 || (9...13).contains($0) }
    let beginnings = ["<?xml", "<!DOCTYPE plist", "<plist", "<!--"]
    guard beginnings.contains(where: { text.starts(with: Array($0.utf8)) }) else {
      throw ContentInfo.invalid(
        bytes.isEmpty ? "it is empty" : "it is not an XML or binary property list")
    }
    try checkNesting(text)
  }

  private static func checkNesting(_ xml: ArraySlice<UInt8>) throws {
    // The start and end of constructs that hide tags from the decoder.
    let hiding = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
    var rest = xml
    var depth = 0
    while let opening = rest.firstIndex(of: UInt8(ascii: "<")) {
      rest = rest[opening...]
      if let (begin, end) = hiding.first(where: { rest.starts(with: Array($0.0.utf8)) }) {
        rest = rest.dropFirst(begin.utf8.count).bytes(after: end)
        continue
      }
      let tag = rest.prefix { $0 != UInt8(ascii: ">") }
      if tag.starts(with: Array("<!".utf8)), tag.contains(UInt8(ascii: "[")) {
        throw ContentInfo.invalid("it has an internal document type declaration")
      }
      if tag.starts(with: Array("</".utf8)) {
        depth = max(0, depth - 1)
      } else if tag.last != UInt8(ascii: "/"), !tag.starts(with: Array("<!".utf8)) {
        depth += 1
      }
      guard depth <= depthLimit else { throw tooDeep }
      rest = rest.dropFirst(max(tag.count, 1))
    }
  }
}
