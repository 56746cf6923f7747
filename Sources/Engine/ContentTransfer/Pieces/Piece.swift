package import ContentModel
import Digests

/// A part of a store's file whose digest is signed: what is fetched, checked and kept as one.
package struct Piece: Hashable, Sendable {
  /// No piece may be longer, in bytes: it is held in memory until its digest is checked.
  package static let maximumLength = 64 << 20

  /// Where it begins in the file, in bytes.
  package let offset: Int64
  /// Bytes.
  package let length: Int
  /// SHA-256 of its bytes.
  package let digest: Digest

  package init(offset: Int64, length: Int, digest: Digest) {
    self.offset = offset
    self.length = length
    self.digest = digest
  }

  /// The offset after its last byte.
  package var end: Int64 { offset + Int64(length) }

  /// Whether `bytes` are the signed ones; not when libcrypto cannot tell.
  func isDigest(of bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
    (try? matches(UnsafeRawBufferPointer(rebasing: bytes))) ?? false
  }

  /// Whether `bytes` are the signed ones.
  func matches(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    try bytes.count == length && Digest(of: bytes) == digest
  }
}

extension PackageIndex {
  /// Block `number` as a piece.
  func piece(_ number: Int) -> Piece {
    let range = range(ofBlock: number)
    return Piece(offset: range.lowerBound, length: range.count, digest: blocks[number])
  }
}

extension [Piece] {
  /// The pieces by offset.
  ///
  /// Throws `storeDamaged` unless each is of a usable length, inside `file`, and apart from the
  /// others: they come from an index, so they are checked before anything counts with them.
  func sorted(within file: SignedFile) throws -> [Piece] {
    let pieces = sorted { $0.offset < $1.offset }
    var end: Int64 = 0
    for piece in pieces {
      guard piece.offset >= end, (0...Piece.maximumLength).contains(piece.length),
        piece.offset <= file.length - Int64(piece.length)
      else {
        throw ContentError(
          .storeDamaged, "The index of \(file.path) names pieces that cannot be",
          remedy: "Ask the store's owner to publish the package again", subject: file.path)
      }
      end = piece.end
    }
    return pieces
  }
}
