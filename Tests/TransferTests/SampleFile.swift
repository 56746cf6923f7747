import HostedModel
import HostedTransfer
import HostedDigests
import HostedFileIO
import Foundation
import HostedTestSupport

/// A store's file with the pieces of a signed index.
struct SampleFile: Sendable {
  let bytes: [UInt8]
  let pieces: [Piece]
  let signed: SignedFile

  /// Creates a file.
  ///
  /// The `lengths` of the pieces are repeated until the file is full.
  init(path: String = "targets/a.pkg", length: Int, pieces lengths: [Int], seed: UInt64 = 1) throws
  {
    var random = SplitMix(state: seed)
    var bytes = [UInt8](repeating: 0, count: length)
    bytes.withUnsafeMutableBytes { buffer in
      for index in stride(from: 0, to: length - 7, by: 8) {
        buffer.storeBytes(of: random.next(), toByteOffset: index, as: UInt64.self)
      }
    }
    self.bytes = bytes
    var pieces: [Piece] = []
    var offset = 0
    while offset < length {
      let count = min(lengths[pieces.count % lengths.count], length - offset)
      let digest = try bytes[offset..<(offset + count)].withUnsafeBytes { try Digest(of: $0) }
      pieces.append(Piece(offset: Int64(offset), length: count, digest: digest))
      offset += count
    }
    self.pieces = pieces
    signed = SignedFile(path: path, length: Int64(length), digest: try Digest(of: bytes))
  }
}

/// Assembles the pieces that a source delivers.
final class Sink {
  private(set) var bytes: [UInt8]
  private(set) var delivered: [Int64] = []

  init(for file: SampleFile) { bytes = Array(repeating: 0, count: file.bytes.count) }

  func take(_ piece: Piece, _ lent: LentBytes) {
    delivered.append(piece.offset)
    lent.withBytes { buffer in
      bytes.withUnsafeMutableBytes { target in
        UnsafeMutableRawBufferPointer(rebasing: target[Int(piece.offset)..<Int(piece.end)])
          .copyMemory(from: buffer)
      }
    }
  }
}

extension HTTPPieceSource {
  /// Creates a source of the stores at `urls`, in a session with short timeouts.
  init(
    at urls: String..., change: (inout HTTPConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = impatientConfiguration()
    change(&configuration)
    try self.init(HTTPSession(configuration), mirrors: urls.map { try WebURL($0) })
  }

  /// Fetches all pieces of `file`, and returns what was delivered.
  func fetch(_ file: SampleFile, ticket: TransferTicket = TransferTicket()) throws -> Sink {
    let sink = Sink(for: file)
    try fetch(file.pieces, of: file.signed, ticket: ticket, deliver: sink.take)
    return sink
  }
}
