package import HostedModel
import HostedDigests

/// A part of a file with a signed digest; it is fetched, verified and stored as a unit.
package struct Piece: Hashable, Sendable {
  /// The maximum length in bytes, since a piece is in memory until it is verified.
  package static let maximumLength = 64 << 20

  /// The start offset in the file, in bytes.
  package let offset: Int64
  /// The length in bytes.
  package let length: Int
  /// The SHA-256 digest of its bytes.
  package let digest: Digest

  package init(offset: Int64, length: Int, digest: Digest) {
    self.offset = offset
    self.length = length
    self.digest = digest
  }

  /// The offset after the last byte.
  package var end: Int64 { offset + Int64(length) }

  /// Whether `bytes` match the digest.
  func matches(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    try bytes.count == length && Digest(of: bytes) == digest
  }
}

extension PackageIndex {
  /// Returns block `number` as a piece.
  func piece(_ number: Int) -> Piece {
    let range = range(ofBlock: number)
    return Piece(offset: range.lowerBound, length: range.count, digest: blocks[number])
  }
}

extension [Piece] {
  /// Returns the pieces, sorted by offset.
  ///
  /// Throws `storeDamaged` unless each piece has a valid length, is inside `file` and does not
  /// overlap others. Pieces come from an index of the store, so they are checked before use.
  func sorted(within file: SignedFile) throws -> [Piece] {
    let pieces = sorted { $0.offset < $1.offset }
    var end: Int64 = 0
    for piece in pieces {
      guard piece.offset >= end, (0...Piece.maximumLength).contains(piece.length),
        piece.offset <= file.length - Int64(piece.length)
      else {
        throw ContentError(
          .storeDamaged, "The index of \(file.path) contains invalid pieces",
          remedy: "Ask the store's owner to publish the package again", subject: file.path)
      }
      end = piece.end
    }
    return pieces
  }
}
