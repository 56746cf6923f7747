import CMicroHTTPD
import FileIO
import Glibc

/// A connection of libmicrohttpd during one of its callbacks; only used on its thread.
package struct HTTPConnection {
  private let pointer: OpaquePointer

  package init(_ pointer: OpaquePointer) { self.pointer = pointer }

  /// The header fields of the request; nil if one is malformed.
  package var headers: [(name: String, value: String)]? {
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

  /// The descriptor of its socket.
  package var descriptor: Int32 { hc_http_descriptor(pointer) }

  /// Returns the socket of the connection.
  func wire(_ stop: StopLatch, idleSeconds: Int) -> Wire {
    Wire(
      descriptor: descriptor, session: hc_http_tls_session(pointer), stop: stop,
      idleSeconds: idleSeconds)
  }

  /// Restarts the idle timeout; without this, a delayed response would be lost after the timeout.
  func restartIdleTime(_ seconds: Int) {
    hc_http_restart_idle_time(pointer, UInt32(clamping: seconds))
  }

  /// Queues a response, sent as valid HTTP.
  ///
  /// Returns false if that fails. Without `pump`, the kernel sends a file directly (sendfile(2)).
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
    // The response owns the pump and releases it in its last callback.
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

/// Passes the bytes of a response to libmicrohttpd, counts them and limits their rate.
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

  /// Fills the start of `buffer` with the next bytes.
  ///
  /// Returns their number, or a negative number. It runs on the connection's own thread, so waiting
  /// for the rate limit does not delay others.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(pace.portion))
    // If the file became shorter, the announced length cannot be sent. Fail, to close the
    // connection.
    guard let count = try? reader.read(into: part), count > 0 else { return Self.failure }
    entry?.count(count)
    return pace.wait(for: count, wire) ? count : Self.failure
  }
}
