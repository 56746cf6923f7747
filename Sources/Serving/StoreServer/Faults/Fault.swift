/// What a rule does to a request's answer, sorted by where it takes hold.
enum Fault: Hashable, Sendable {
  /// Before there is a request: to the connection itself.
  case connection(ConnectionFault)
  /// To what is asked and to the file, before the answer is made: an honest server of another file.
  case resource(ResourceFault)
  /// To the answer: well-formed HTTP that says or carries something wrong.
  case answer(AnswerFault)
  /// To the way the answer travels.
  case transmission(TransmissionFault)
}

enum ConnectionFault: Hashable {
  /// Closed before the handshake.
  case close
  /// A fatal TLS alert, handshake_failure, in place of the handshake.
  case refuse
  /// The handshake is never answered.
  case stall
  /// Another certificate: PEM files of certificate and key.
  case certificate(Certificate)
}

enum ResourceFault: Hashable {
  /// Range is ignored.
  case ignoreRange
  case validators(Validators)
  /// Every byte is another one, under the same validators.
  case changeBody

  enum Validators: String, Hashable, CaseIterable {
    /// Others each time.
    case changed
    /// A weak entity tag.
    case weak
    case none
  }
}

enum AnswerFault: Hashable {
  /// A 206 that carries another part than asked, and says so truthfully.
  case partial(Partial)
  /// A 206 whose Content-Range is not true.
  case contentRange(ContentRange)
  /// 416, with the file's size in Content-Range unless `bare`.
  case unsatisfiable(bare: Bool)
  case gzip
  case loginPage
  case status(Int, RetryAfter?)
  /// A redirect; `{path}` in the text stands for the request's target.
  case redirect(String, status: Int)
  /// One byte of the file is another one, counted from 0.
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
    /// A date that many seconds from now.
    case date(Int64)
  }
}

enum TransmissionFault: Hashable {
  /// A pause before the answer.
  case latency(Duration)
  /// Bytes a second.
  case rate(Int64)
  case contentLength(LengthPromise)
  /// Bytes behind the end that Content-Length promised.
  case longer(Int64)
  /// A body that never ends, without Content-Length.
  case endless
  /// Closed after that many bytes of the body.
  case cut(Int64)
  /// Reset after that many bytes of the body; nil for before the head.
  case reset(Int64?)
  /// Closed before any byte of the answer.
  case close
  /// A pause after that many bytes of the body; nil for until the client leaves.
  case stall(Int64, Duration?)
  /// So many bytes of the body each time.
  case drip(Int64, Duration)
  /// So many bytes of the head each time.
  case slowHead(Int64, Duration)
  /// So many bytes of filling in the head.
  case hugeHead(Int64)
}

/// What Content-Length says.
enum LengthPromise: Hashable {
  case honest
  case none
  /// So many bytes more than are sent, or fewer.
  case off(by: Int64)
  case exactly(Int64)
}

/// A certificate chain and its key, as paths of PEM files.
package struct Certificate: Hashable, Sendable {
  package let chain: String
  package let key: String

  /// Names the files; they are read when a server starts.
  package init(chain: String, key: String) {
    self.chain = chain
    self.key = key
  }
}
