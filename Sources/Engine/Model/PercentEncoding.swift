/// Percent-encoding for the path of a URL (RFC 3986).
package enum PercentEncoding {
  private static let unreserved = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~".utf8)

  /// Encodes one component; a `/` is encoded too.
  package static func component(_ text: some StringProtocol) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if unreserved.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Encodes the components of a path and keeps the slashes between them.
  package static func path(_ text: String) -> String {
    text.pathComponents(omittingEmpty: false).map { component($0) }
      .joined(separator: "/")
  }
}
