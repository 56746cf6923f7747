import CMicroHTTPD
import FileIO
import Glibc

/// A connection of libmicrohttpd during one of its callbacks; used on its thread only.
struct HTTPConnection {
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  /// The header fields of the request; nil if the lines of one are malformed.
  var headers: [(name: String, value: String)]? {
    let found = FieldList()
    let isWellFormed = hc_http_each_header(pointer, Unmanaged.passUnretained(found).toOpaque()) {
      context, name, value in
      guard let context, let name else { return }
      Unmanaged<FieldList>.fromOpaque(context).takeUnretainedValue().fields.append(
        (String(cString: name), value.map { String(cString: $0) } ?? ""))
    }
    return isWellFormed != 0 ? withExtendedLifetime(found) { $0.fields } : nil
  }

  private final class FieldList {
    var fields: [(name: String, value: String)] = []
  }

  /// The number of its socket.
  var descriptor: Int32 { hc_http_descriptor(pointer) }

  /// The socket below.
  func wire(_ stop: StopLatch, idleSeconds: Int) -> Wire {
    Wire(
      descriptor: descriptor, session: hc_http_tls_session(pointer), stop: stop,
      idleSeconds: idleSeconds)
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
    for header in answer.headers {
      hc_http_response_add_header(response, header.name, header.value)
    }
    return hc_http_send(pointer, UInt32(clamping: answer.status), response) != 0
  }

  private static func response(_ answer: Answer, _ pump: BodyPump?) -> OpaquePointer? {
    let length = UInt64(answer.body.length)
    if length == 0 { return hc_http_response_empty() }
    if pump == nil, let (opened, range) = answer.body.plainFile {
      guard let descriptor = try? opened.file.duplicatedDescriptor() else { return nil }
      return hc_http_response_file(length, descriptor, UInt64(range.lowerBound))
    }
    guard let pump else { return nil }
    // The response owns the pump and gives it back in its last callback.
    return hc_http_response_stream(
      length, BodyPump.bufferSize, Unmanaged.passRetained(pump).toOpaque(),
      { context, buffer, count in
        guard let context, let buffer else { return -1 }
        return Unmanaged<BodyPump>.fromOpaque(context).takeUnretainedValue()
          .fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
      },
      { context in
        if let context { Unmanaged<BodyPump>.fromOpaque(context).release() }
      })
  }
}

/// Brings an answer's bytes to libmicrohttpd, counted and at their pace.
final class BodyPump {
  private let reader: any ByteReader
  private let pace: Pace
  private let wire: Wire
  private let entry: RequestLog.Entry?

  static let bufferSize = 64 << 10
  private static let failure = -1

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
