import Foundation
import Glibc

/// A certificate for 127.0.0.1 that signs itself, made anew for a test with the openssl tool.
package struct TestCertificate: Sendable {
  /// Whether the openssl tool is installed.
  package static let canBeMade = program != nil
  /// What a skipped test says.
  package static let reason = "The openssl tool is not installed: apt-get install openssl"

  private static let program: String? = ["/usr/bin/openssl", "/usr/local/bin/openssl"]
    .first { (path: String) in access(path, X_OK) == 0 }

  /// The certificate in PEM.
  package let certificate: String
  /// Its key in PEM.
  package let key: String

  /// Makes one in `folder`.
  package init(in folder: TemporaryFolder) throws {
    certificate = folder.path("certificate.pem")
    key = folder.path("key.pem")
    let tool = Process()
    tool.executableURL = URL(filePath: Self.program ?? "/usr/bin/openssl")
    tool.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
      "-keyout", key, "-out", certificate,
    ]
    tool.standardError = FileHandle.nullDevice
    try tool.run()
    tool.waitUntilExit()
  }

  /// nginx's directives for it.
  package var directives: String { "ssl_certificate \(certificate); ssl_certificate_key \(key);" }
}
