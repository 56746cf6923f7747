import HostedCTLSClient
import HostedModel
import HostedTestSupport

/// A TLS client that trusts one certificate and checks the host name.
final class TLSClient {
  private let socket: ClientSocket
  private let client: OpaquePointer
  /// The received bytes.
  private(set) var bytes: [UInt8] = []
  /// Whether the server sent a close alert.
  private(set) var endsInOrder = false

  /// Connects to 127.0.0.1 and performs the handshake.
  ///
  /// Throws GnuTLS's message if it fails.
  init(port: UInt16, trusting chain: String) throws {
    socket = try ClientSocket(port: port)
    var words: UnsafePointer<CChar>?
    let client = hc_tls_connect(
      socket.descriptor, "localhost", chain, chain.utf8.count, &words)
    guard let client else {
      throw ContentError(
        .cannotListen, "No handshake", remedy: "None", cause: words.map { String(cString: $0) })
    }
    self.client = client
  }

  deinit { hc_tls_free(client) }

  /// Sends a request and receives until the connection ends.
  func get(_ target: String) {
    let text = "GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    _ = hc_tls_send(client, text, text.utf8.count)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = hc_tls_receive(client, &buffer, buffer.count)
      endsInOrder = count == 0
      guard count > 0 else { return }
      bytes += buffer[..<count]
    }
  }
}
