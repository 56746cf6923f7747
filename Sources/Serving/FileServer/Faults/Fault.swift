import HostedHTTPValues

/// What a rule does to a response, by the stage at which it acts.
enum Fault: Hashable, Sendable {
  /// Acts on the connection, before a request.
  case connection(ConnectionFault)
  /// Acts on the request and the file: a correct server with another file.
  case resource(ResourceFault)
  /// Acts on the response: well-formed HTTP with wrong values or data.
  case answer(AnswerFault)
  /// Acts on the transmission of the response.
  case transmission(TransmissionFault)

  var isOfConnection: Bool { if case .connection = self { true } else { false } }
}

enum ConnectionFault: Hashable {
  /// Closes the connection before the handshake.
  case close
  /// Sends the fatal TLS alert handshake_failure.
  case refuse
  /// Never answers the handshake.
  case stall
  /// Uses another certificate: PEM files of certificate and key.
  case certificate(Certificate)
}

enum ResourceFault: Hashable {
  case ignoreRange
  case validators(Validators)
  /// Inverts every byte, with the same validators.
  case changeBody

  enum Validators: String, Hashable, CaseIterable {
    /// Other validators each time.
    case changed
    /// A weak entity tag.
    case weak
    case none
  }
}

enum AnswerFault: Hashable {
  /// A 206 with another part than requested, with the correct Content-Range.
  case partial(Partial)
  /// A 206 with a wrong Content-Range.
  case contentRange(ContentRange)
  /// A 416, with the file's size in Content-Range unless `bare`.
  case unsatisfiable(bare: Bool)
  case gzip
  case loginPage
  case status(Int, RetryAfter?)
  /// A redirect. `{path}` in the text is replaced with the request's target.
  case redirect(String, status: Int)
  /// Changes one byte of the file. The offset starts at 0.
  case flip(at: Int64)

  enum Partial: Hashable {
    case short(Int64)
    case shifted(Int64)
    case overlapping(Int64)
  }

  enum ContentRange: Hashable {
    case none
    case shifted(Int64)
    case total(Int64)
    case text(String)
  }

  enum RetryAfter: Hashable {
    case seconds(Int64)
    /// A date this many seconds from now.
    case date(Int64)
  }
}

enum TransmissionFault: Hashable {
  /// A pause before the response.
  case latency(Duration)
  /// Bytes per second.
  case rate(Int64)
  case contentLength(LengthPromise)
  /// This many bytes after the end according to Content-Length.
  case longer(Int64)
  /// A body that never ends, without Content-Length.
  case endless
  /// Closes the connection after this many bytes of the body.
  case cut(Int64)
  /// Resets the connection after this many bytes of the body; nil resets before the head.
  case reset(Int64?)
  /// Closes the connection before the first byte of the response.
  case close
  /// Pauses after this many bytes of the body. A nil duration waits until the client leaves.
  case stall(Int64, Duration?)
  /// Sends this many bytes of the body each time.
  case drip(Int64, Duration)
  /// Sends this many bytes of the head each time.
  case slowHead(Int64, Duration)
  /// Adds this many bytes to the head.
  case hugeHead(Int64)
}

/// The value of Content-Length.
enum LengthPromise: Hashable {
  case actual
  case none
  /// Differs from the actual length by this many bytes.
  case off(by: Int64)
  case exactly(Int64)
}

extension ResourceFault {
  /// Changes the request and the file before the response is created.
  func change(_ request: inout HTTPRequest, _ representation: inout Representation, number: Int) {
    switch self {
    case .ignoreRange: request.headers["range"] = nil
    case .changeBody: representation.body.damage = .inversion
    case .validators(.changed):
      let old = representation.validators
      representation.validators = HostedHTTPValues.Validators(
        entityTag: old.entityTag.map { "\($0.dropLast())-\(number)\"" },
        modified: old.modified.map { $0 + Int64(number) })
    case .validators(.weak):
      representation.validators.entityTag = representation.validators.entityTag.map { "W/\($0)" }
    case .validators(.none):
      representation.validators = HostedHTTPValues.Validators(entityTag: nil, modified: nil)
    }
  }
}

extension AnswerFault {
  func change(_ answer: inout HTTPResponse<ServedBody>, to request: HTTPRequest) {
    switch self {
    case .partial(let partial): partial.change(&answer)
    case .contentRange(let contentRange): contentRange.change(&answer)
    case .unsatisfiable(let bare):
      let size = answer.body.place?.total
      answer = HTTPResponse(416, text: "The range is beyond the end of the file.")
      if !bare { answer.headers["Content-Range"] = "bytes */\(size ?? 0)" }
    case .gzip:
      answer.body.isCompressed = true
      answer.headers["Content-Encoding"] = "gzip"
    case .loginPage:
      let page =
        "<!DOCTYPE html><title>Sign in</title><form>Name <input> <button>Go</button></form>\n"
      answer = HTTPResponse(200, contentType: "text/html; charset=utf-8", Array(page.utf8))
    case .status(let status, let retryAfter):
      answer = HTTPResponse(status, text: "Status \(status), set by the fault script.")
      switch retryAfter {
      case nil: break
      case .seconds(let seconds): answer.headers["Retry-After"] = "\(seconds)"
      case .date(let seconds): answer.headers["Retry-After"] = HTTPDate.text(HTTPDate.now + seconds)
      }
    case .redirect(let location, let status):
      answer = HTTPResponse(status, text: "The file has moved.")
      answer.headers["Location"] = location.replacing("{path}", with: request.target)
    case .flip(let offset): answer.body.damage = .flip(at: offset)
    }
  }
}

extension AnswerFault.Partial {
  /// Sends another part than requested; only acts on a 206.
  fileprivate func change(_ answer: inout HTTPResponse<ServedBody>) {
    guard let (part, total) = answer.body.part else { return }
    let (lower, upper, last) = (part.lowerBound, part.upperBound, total - 1)
    // Keep at least one byte: a 206 without bytes is invalid.
    let range =
      switch self {
      case .short(let count): lower..<max(lower + 1, upper - min(count, upper))
      case .shifted(let count):
        lower + min(count, last - lower)..<min(total, upper + min(count, last - lower))
      case .overlapping(let count): max(0, lower - min(count, lower))..<upper
      }
    answer.show(HostedHTTPValues.ContentRange(bytes: range, total: total))
    answer.body.range = range
  }
}

extension AnswerFault.ContentRange {
  /// Changes Content-Range to a wrong value; only acts on a 206.
  fileprivate func change(_ answer: inout HTTPResponse<ServedBody>) {
    guard let (part, total) = answer.body.part else { return }
    func show(_ range: Range<Int64>, of total: Int64) {
      answer.headers["Content-Range"] =
        HostedHTTPValues.ContentRange(bytes: range, total: total).text
    }
    switch self {
    case .none: answer.headers["Content-Range"] = nil
    case .text(let text): answer.headers["Content-Range"] = text
    case .shifted(let count):
      let shift = min(count, Int64.max - part.upperBound)
      show(part.lowerBound + shift..<part.upperBound + shift, of: total)
    case .total(let total): show(part, of: total)
    }
  }
}

extension ServedBody {
  /// The part of a file in a 206, and the size of the file; nil for other responses.
  fileprivate var part: (range: Range<Int64>, total: Int64)? {
    guard let range = place?.bytes, let total = place?.total else { return nil }
    return (range, total)
  }
}
