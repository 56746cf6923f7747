import ContentModel
import Digests

/// A checksum that an archive promises for the bytes of one of its files.
///
/// It tells damage early; it is no protection, since whoever changes the file changes it too.
struct FileChecksum: ~Copyable {
  /// The digest and the value that it must have.
  struct Expected: Hashable {
    let algorithm: DigestStream.Algorithm
    let bytes: [UInt8]
  }

  private let expected: Expected
  private var stream: DigestStream

  init(_ expected: Expected) {
    self.expected = expected
    stream = DigestStream(expected.algorithm)
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) throws { try stream.update(bytes) }

  /// Whether the bytes so far have the promised checksum.
  mutating func matches() throws -> Bool { try stream.finishBytes() == expected.bytes }
}
