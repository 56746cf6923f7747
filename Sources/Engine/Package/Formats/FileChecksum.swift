import HostedModel
import HostedDigests

/// A checksum that an archive records for the bytes of a file.
///
/// It detects damage early. It does not protect from attacks, since an attacker can also change the
/// checksum.
struct FileChecksum: ~Copyable {
  /// The algorithm and the expected value.
  struct Expected: Hashable {
    let algorithm: DigestStream.Algorithm
    let bytes: [UInt8]
  }

  private let expected: Expected
  private let path: String
  private var stream: DigestStream

  init(_ expected: Expected, of path: String) {
    self.expected = expected
    self.path = path
    stream = DigestStream(expected.algorithm)
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) throws { try stream.update(bytes) }

  /// Throws a finding unless the bytes so far match the checksum.
  mutating func check() throws {
    guard try stream.finishBytes() == expected.bytes else {
      throw Finding.damaged("Checksum mismatch in “\(path)”", path: path)
    }
  }
}
