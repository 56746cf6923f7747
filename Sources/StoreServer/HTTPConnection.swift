import CMicroHTTPD
import FileIO
import Glibc

/// A connection of libmicrohttpd during one of its callbacks; used on its thread only.
struct HTTPConnection {
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  /// The header fields of the request.
  var headers: [(name: String, value: String)] {
    let found = FieldList()
    _ = MHD_get_connection_values(
      pointer, .HEADER_KIND,
      { context, _, name, value in
        guard let context, let name else { return .NO }
        Unmanaged<FieldList>.fromOpaque(context).takeUnretainedValue().fields.append(
          (String(cString: name), value.map { String(cString: $0) } ?? ""))
        return .YES
      }, Unmanaged.passUnretained(found).toOpaque())
    return withExtendedLifetime(found) { $0.fields }
  }

  private final class FieldList {
    var fields: [(name: String, value: String)] = []
  }

  /// The socket below.
  func wire(_ stop: StopLatch) -> Wire {
    Wire(
      descriptor: hc_http_descriptor(pointer), session: hc_http_tls_session(pointer), stop: stop)
  }

  /// Counts the idle time from now; without it an answer that was delayed for longer would be lost.
  func restartIdleTime(_ seconds: Int) {
    hc_http_restart_idle_time(pointer, UInt32(clamping: seconds))
  }

  /// Hands an answer over to be sent as HTTP wants it; false when it cannot be.
  ///
  /// Without `pump` a file's bytes go from the kernel's cache to the socket (sendfile(2)).
  func send(_ answer: Answer, pump: BodyPump?) -> Bool {
    guard let response = Self.response(answer, pump) else { return false }
    defer { MHD_destroy_response(response) }
    for header in answer.headers {
      _ = MHD_add_response_header(response, header.name, header.value)
    }
    return MHD_queue_response(pointer, UInt32(clamping: answer.status), response) == .YES
  }

  private static func response(_ answer: Answer, _ pump: BodyPump?) -> OpaquePointer? {
    let length = UInt64(answer.body.length)
    if length == 0 { return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT) }
    if pump == nil, let (opened, range) = answer.body.plainFile {
      guard let descriptor = try? opened.file.duplicatedDescriptor() else { return nil }
      return MHD_create_response_from_fd_at_offset64(
        length, descriptor, UInt64(range.lowerBound))
    }
    guard let pump else { return nil }
    // The response owns the pump and gives it back in its last callback.
    let context = Unmanaged.passRetained(pump)
    let response = MHD_create_response_from_callback(
      length, BodyPump.bufferSize,
      { context, _, buffer, count in
        guard let context, let buffer else { return -2 }
        return Unmanaged<BodyPump>.fromOpaque(context).takeUnretainedValue()
          .fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
      }, context.toOpaque(),
      { context in
        if let context { Unmanaged<BodyPump>.fromOpaque(context).release() }
      })
    if response == nil { context.release() }
    return response
  }
}

/// Brings an answer's bytes to libmicrohttpd, counted and at their pace.
final class BodyPump {
  private let reader: any ByteReader
  private let pace: Pace
  private let wire: Wire
  private let entry: RequestLog.Entry?

  static let bufferSize = 64 << 10
  /// MHD_CONTENT_READER_END_WITH_ERROR, a macro with a cast.
  private static let failure = -2

  init(_ body: Body, _ pace: Pace, _ wire: Wire, _ entry: RequestLog.Entry?) {
    reader = body.reader()
    self.pace = pace
    self.wire = wire
    self.entry = entry
  }

  /// Fills the start of `buffer` with the next bytes; returns how many, or a negative number.
  ///
  /// The thread is the connection's own, so that waiting for the pace holds up nobody else.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(pace.portion))
    // A file that has become shorter since its length was promised has no honest end either.
    guard let count = try? reader.read(into: part), count > 0 else { return Self.failure }
    entry?.count(count)
    return pace.wait(for: count, wire) ? count : Self.failure
  }
}
