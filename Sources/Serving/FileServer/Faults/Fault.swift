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
  /// Ignores Range.
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
