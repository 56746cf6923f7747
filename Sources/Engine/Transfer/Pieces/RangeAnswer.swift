package import HostedHTTPValues
package import FoundationEssentials

/// The request that an answer must match.
package struct RangeQuestion: Hashable, Sendable {
  /// The requested range.
  package var range: Range<Int64>
  /// Whether the whole file was requested, without a `Range` header.
  package var isWhole: Bool
  /// The signed length of the whole file, in bytes.
  package var fileLength: Int64
  /// The validator in the `If-Range` header, or nil without that header.
  package var validator: String?

  package init(
    range: Range<Int64>, isWhole: Bool, fileLength: Int64, validator: String? = nil
  ) {
    self.range = range
    self.isWhole = isWhole
    self.fileLength = fileLength
    self.validator = validator
  }
}

/// The range of an answer's body in the file.
///
/// Pure. The digest decides about the bytes. This check detects an answer that cannot match the
/// request before its body is read, and determines where its bytes belong.
package struct RangeAnswer: Hashable, Sendable {
  /// The offset of the first byte of the body.
  package let start: Int64
  /// The offset after the last byte of the body.
  package let end: Int64
  /// Whether the server has declared the end, so that the answer ends with that byte.
  var isEndPromised = false

  /// Returns the place of the body if `head` answers `question`.
  ///
  /// See RFC 9110 §14 and §15.
  package static func judge(_ head: HTTPHead, _ question: RangeQuestion, now: Date)
    throws(TransferFault) -> RangeAnswer
  {
    let isAccepted = [200, 203, 206].contains(head.status)
    if isAccepted, let encoding = head.encoding { throw TransferFault(.encoded(encoding)) }
    switch head.status {
    case 200, 203: return try wholeBody(head, question)
    case 206: return try part(head, question)
    case 416: throw refused(head, question)
    default: throw TransferFault(statusOf: head, now: now)
    }
  }

  private static func wholeBody(_ head: HTTPHead, _ question: RangeQuestion) throws(TransferFault)
    -> RangeAnswer
  {
    if !question.isWhole, let sent = question.validator, let now = Validator.strong(head),
      now != sent
    {
      throw TransferFault(.otherValidator)
    }
    // Some servers send every file with the type of a web page, so the length decides.
    let mayFit = head.contentLength.map { $0 == question.fileLength } ?? question.isWhole
    if head.isPage, !mayFit { throw TransferFault(.unexpectedType("text/html")) }
    if let length = head.contentLength, length != question.fileLength {
      throw TransferFault(.wrongLength(length))
    }
    if !question.isWhole { throw TransferFault(.rangeIgnored) }
    return RangeAnswer(
      start: 0, end: question.fileLength, isEndPromised: head.contentLength != nil)
  }

  private static func part(_ head: HTTPHead, _ question: RangeQuestion) throws(TransferFault)
    -> RangeAnswer
  {
    guard let text = head["content-range"], let range = ContentRange(text), let bytes = range.bytes
    else { throw TransferFault(.rangeUnclear, head["content-range"] ?? "No Content-Range") }
    if let total = range.total, total != question.fileLength {
      throw TransferFault(.wrongLength(total), text)
    }
    if let length = head.contentLength, length != Int64(bytes.count) {
      throw TransferFault(.rangeUnclear, "\(text), but \(length) bytes")
    }
    guard bytes.overlaps(question.range), bytes.upperBound <= question.fileLength else {
      throw TransferFault(.rangeElsewhere, text)
    }
    return RangeAnswer(
      start: bytes.lowerBound, end: bytes.upperBound, isEndPromised: head.contentLength != nil)
  }

  /// Returns the fault for status 416: another file, or a server without ranges.
  private static func refused(_ head: HTTPHead, _ question: RangeQuestion) -> TransferFault {
    let text = head["content-range"] ?? "No Content-Range"
    if let total = ContentRange(text)?.total, total != question.fileLength {
      return TransferFault(.wrongLength(total), text)
    }
    return question.isWhole ? TransferFault(.status(416)) : TransferFault(.rangeRefused, text)
  }
}

/// Identifies a version of a resource, byte for byte (RFC 9110 §8.8); pure.
enum Validator {
  /// Returns a strong entity tag, or a strong modification date, or nil.
  ///
  /// A date is strong if it is at least a minute before the date of the answer. A validator that
  /// cannot be sent back as one header is ignored.
  static func strong(_ head: HTTPHead) -> String? {
    if let tag = head["etag"] {
      let isStrong = tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count >= 2
      let isSendable = tag.utf8.count <= 1024 && HTTPHeader("If-Range", tag).isWellFormed
      return isStrong && isSendable ? tag : nil
    }
    guard let text = head["last-modified"], text.utf8.count <= 64,
      let modified = HTTPDate.seconds(text), let sent = head["date"].flatMap(HTTPDate.seconds),
      sent - modified >= 60
    else { return nil }
    return text
  }
}
