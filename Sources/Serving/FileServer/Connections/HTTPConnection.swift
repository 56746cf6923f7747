package import HostedHTTPValues
import HostedCMicroHTTPD

/// A connection of libmicrohttpd during one of its callbacks; only used on its thread.
// Sendable, because other threads only resume it, while it is suspended.
package struct HTTPConnection: @unchecked Sendable {
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  /// The header fields of the request; nil if one is malformed.
  var headers: HTTPHeaders? {
    var fields: [HTTPHeader] = []
    let isWellFormed = withUnsafeMutablePointer(to: &fields) { fields in
      hc_http_each_header(pointer, fields) { context, name, value in
        guard let context, let name else { return }
        context.assumingMemoryBound(to: [HTTPHeader].self).pointee.append(
          HTTPHeader(String(cString: name), value.map { String(cString: $0) } ?? ""))
      }
    }
    return isWellFormed != 0 ? HTTPHeaders(fields) : nil
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

  /// Suspends the connection of a daemon with one thread until `resume`.
  package func suspend() { hc_http_suspend(pointer) }

  /// Call it from any thread.
  package func resume() { hc_http_resume(pointer) }

  /// Queues a response, sent as valid HTTP; returns false if that fails.
  package func send(_ head: HTTPHead, _ body: HTTPBody) -> Bool {
    guard let response = Self.response(body) else { return false }
    for field in head.headers.fields {
      hc_http_response_add_header(response, field.name, field.value)
    }
    return hc_http_send(pointer, UInt32(clamping: head.status), response) != 0
  }

  private static func response(_ body: HTTPBody) -> OpaquePointer? {
    switch body {
    case .bytes(let bytes):
      return bytes.withUnsafeBytes { hc_http_response_bytes($0.baseAddress, $0.count) }
    case .file(let descriptor, let offset, let length):
      return hc_http_response_file(UInt64(length), descriptor, UInt64(offset))
    case .stream(let length, let bufferSize, let fill):
      // The response owns the source and releases it in its last callback.
      return hc_http_response_stream(
        length.map { UInt64($0) } ?? .max, bufferSize,
        Unmanaged.passRetained(StreamSource(fill)).toOpaque(),
        { context, buffer, count in
          guard let context, let buffer else { return HTTPBody.failure }
          return Unmanaged<StreamSource>.fromOpaque(context).takeUnretainedValue()
            .fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
        },
        { context in
          if let context { Unmanaged<StreamSource>.fromOpaque(context).release() }
        })
    }
  }

  private final class StreamSource {
    let fill: (UnsafeMutableRawBufferPointer) -> Int

    init(_ fill: @escaping (UnsafeMutableRawBufferPointer) -> Int) { self.fill = fill }
  }
}

/// The body of a response.
package enum HTTPBody {
  case bytes([UInt8])
  /// A part of a file, which the kernel sends directly (sendfile(2)); takes the descriptor.
  case file(descriptor: Int32, offset: Int64, length: Int64)
  /// Bytes that are created while they are sent; a nil `length` is unknown.
  ///
  /// `fill` fills the start of a buffer, and returns the number of bytes, 0 if it has suspended
  /// the connection, `failure` or `end`.
  case stream(
    length: Int64?, bufferSize: Int, fill: (_ buffer: UnsafeMutableRawBufferPointer) -> Int)

  /// Closes the connection.
  package static let failure = -1
  /// The end of a stream of unknown length.
  package static let end = -2
}
