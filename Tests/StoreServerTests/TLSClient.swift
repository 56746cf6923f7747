import CMicroHTTPD
import ContentModel
import Glibc
import Testing

/// A TLS client over GnuTLS that trusts one certificate and checks the host's name.
final class TLSClient {
  private let socket: Int32
  private var session: gnutls_session_t?
  private var credentials: gnutls_certificate_credentials_t?
  /// What has been received.
  private(set) var bytes: [UInt8] = []
  /// Whether the other side said that it ends, as an orderly end of TLS does.
  private(set) var endsInOrder = false

  /// Connects to 127.0.0.1 and shakes hands; throws GnuTLS's own words when that fails.
  init(port: UInt16, trusting chain: String) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    gnutls_certificate_allocate_credentials(&credentials)
    var pem = Array(chain.utf8)
    pem.withUnsafeMutableBufferPointer { pem in
      var datum = gnutls_datum_t(data: pem.baseAddress, size: UInt32(pem.count))
      _ = gnutls_certificate_set_x509_trust_mem(credentials, &datum, GNUTLS_X509_FMT_PEM)
    }
    gnutls_init(&session, UInt32(1 << 1))
    gnutls_set_default_priority(session)
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials))
    gnutls_session_set_verify_cert(session, "localhost", 0)
    gnutls_transport_set_int2(session, socket, socket)
    gnutls_handshake_set_timeout(session, 30_000)
    var result: Int32
    repeat {
      result = gnutls_handshake(session)
    } while result < 0 && gnutls_error_is_fatal(result) == 0
    guard result == 0 else {
      throw ContentError(
        .cannotListen, "No handshake", remedy: "None",
        cause: String(cString: gnutls_strerror(result)))
    }
  }

  deinit {
    gnutls_deinit(session)
    gnutls_certificate_free_credentials(credentials)
    close(socket)
  }

  /// Sends a request and receives until the connection ends.
  func get(_ target: String) {
    let text = "GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    _ = Array(text.utf8).withUnsafeBytes { gnutls_record_send(session, $0.baseAddress, $0.count) }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = buffer.withUnsafeMutableBytes {
        gnutls_record_recv(session, $0.baseAddress, $0.count)
      }
      endsInOrder = count == 0
      guard count > 0 else { return }
      bytes += buffer[..<count]
    }
  }
}
