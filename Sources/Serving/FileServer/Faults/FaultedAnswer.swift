import HostedTransfer

extension ResourceFault {
  /// Changes the request and the file before the response is created.
  func change(_ request: inout ServerRequest, _ representation: inout Representation, number: Int) {
    switch self {
    case .ignoreRange: request.removeHeader("range")
    case .changeBody: representation.body.damage = .inversion
    case .validators(.changed):
      representation.entityTag = representation.entityTag.map { "\($0.dropLast())-\(number)\"" }
      representation.modified = representation.modified.map { $0 + Int64(number) }
    case .validators(.weak):
      representation.entityTag = representation.entityTag.map { "W/\($0)" }
    case .validators(.none):
      representation.entityTag = nil
      representation.modified = nil
    }
  }
}

extension AnswerFault {
  /// Changes the response to `request`.
  func change(_ answer: inout Answer, to request: ServerRequest) {
    switch self {
    case .partial(let partial): partial.change(&answer)
    case .contentRange(let contentRange): contentRange.change(&answer)
    case .unsatisfiable(let bare):
      let size = answer.wholeSize
      answer = Answer(416, text: "The range is beyond the end of the file.")
      if !bare { answer.set("Content-Range", "bytes */\(size ?? 0)") }
    case .gzip:
      answer.body.isCompressed = true
      answer.set("Content-Encoding", "gzip")
    case .loginPage:
      let page =
        "<!DOCTYPE html><title>Sign in</title><form>Name <input> <button>Go</button></form>\n"
      answer = Answer(200, contentType: "text/html; charset=utf-8", Array(page.utf8))
    case .status(let status, let retryAfter):
      answer = Answer(status, text: "Status \(status), set by the fault script.")
      switch retryAfter {
      case nil: break
      case .seconds(let seconds): answer.set("Retry-After", "\(seconds)")
      case .date(let seconds): answer.set("Retry-After", HTTPDate.text(HTTPDate.now + seconds))
      }
    case .redirect(let location, let status):
      answer = Answer(status, text: "The file has moved.")
      answer.set("Location", location.replacing("{path}", with: request.target))
    case .flip(let offset): answer.body.damage = .flip(at: offset)
    }
  }
}

extension AnswerFault.Partial {
  /// Sends another part than requested; only acts on a 206.
  fileprivate func change(_ answer: inout Answer) {
    guard var part = answer.part else { return }
    let (lower, upper, last) = (part.range.lowerBound, part.range.upperBound, part.total - 1)
    // Keep at least one byte: a 206 without bytes is invalid.
    switch self {
    case .short(let count): part.range = lower..<max(lower + 1, upper - min(count, upper))
    case .shifted(let count):
      let shift = min(count, last - lower)
      part.range = lower + shift..<min(part.total, upper + shift)
    case .overlapping(let count): part.range = max(0, lower - min(count, lower))..<upper
    }
    answer.show(part)
    answer.body.range = part.range
  }
}

extension AnswerFault.ContentRange {
  /// Changes Content-Range to a wrong value; only acts on a 206.
  fileprivate func change(_ answer: inout Answer) {
    guard var part = answer.part else { return }
    switch self {
    case .none: answer.set("Content-Range", nil)
    case .text(let text): answer.set("Content-Range", text)
    case .shifted(let count):
      let shift = min(count, Int64.max - part.range.upperBound)
      part.range = part.range.lowerBound + shift..<part.range.upperBound + shift
      answer.set("Content-Range", part.text)
    case .total(let total):
      part.total = total
      answer.set("Content-Range", part.text)
    }
  }
}
