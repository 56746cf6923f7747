import HostedHTTPValues

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
  /// Changes the response to `request`.
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
