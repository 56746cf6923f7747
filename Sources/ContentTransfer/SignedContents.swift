package import ContentModel
import Digests

extension PieceSource {
  /// All bytes of `file` once its length and digest are right; for small files.
  ///
  /// Throws `digestMismatch` for other bytes, `limitExceeded` when more than `limit` are promised.
  package func contents(of file: SignedFile, limit: Int64) throws -> [UInt8] {
    guard (0...limit).contains(file.length) else {
      throw ContentError(
        .limitExceeded,
        "\(file.path) has \(file.length) bytes, more than the \(limit) that are read",
        remedy: "Ask the store's owner to publish smaller packages", subject: file.path)
    }
    let reader = try open(file)
    // One byte more than promised shows a file that is too long.
    var bytes = [UInt8](repeating: 0, count: Int(file.length) + 1)
    let count = try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
    bytes.removeLast(bytes.count - count)
    guard bytes.count == Int(file.length), try Digest(of: bytes) == file.digest else {
      throw ContentError(
        .digestMismatch, "\(file.path) differs from its signed length and digest",
        remedy: "Ask the store's owner to publish it again", subject: file.path)
    }
    return bytes
  }
}
