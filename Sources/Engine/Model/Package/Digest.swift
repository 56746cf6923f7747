/// A SHA-256 digest: 32 bytes, shown as 64 lower-case hexadecimal digits.
///
/// Source: FIPS 180-4.
public struct Digest: Hashable, Sendable, CustomStringConvertible, Codable {
  // Not a tuple, which is not `Hashable`.
  private let word0, word1, word2, word3: UInt64

  /// A digest of zero bytes, for an unknown digest.
  package static let zero = Digest()

  private init() { (word0, word1, word2, word3) = (0, 0, 0, 0) }

  /// Creates a digest from exactly 32 bytes; nil for another count.
  public init?(bytes: some Collection<UInt8>) {
    let inPlace = bytes.withContiguousStorageIfAvailable { Self(UnsafeRawBufferPointer($0)) }
    guard let digest = inPlace ?? Array(bytes).withUnsafeBytes({ Self($0) }) else { return nil }
    self = digest
  }

  /// Creates a digest from exactly 32 bytes of memory; nil for another count.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    func word(_ index: Int) -> UInt64 {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
    }
    (word0, word1, word2, word3) = (word(0), word(1), word(2), word(3))
  }

  /// Parses 64 hexadecimal digits; nil for other text.
  public init?(hex: some StringProtocol) {
    guard let bytes = Hexadecimal.bytes(of: hex) else { return nil }
    self.init(bytes: bytes)
  }

  /// The 32 bytes.
  public var bytes: [UInt8] {
    let words = (word0.bigEndian, word1.bigEndian, word2.bigEndian, word3.bigEndian)
    return withUnsafeBytes(of: words) { Array($0) }
  }

  /// 64 lower-case hexadecimal digits.
  public var hex: String { Hexadecimal.text(of: bytes) }

  /// 64 lower-case hexadecimal digits.
  public var description: String { hex }

  /// Decodes 64 hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let digest = Digest(hex: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "A SHA-256 digest has 64 hexadecimal digits.")
    }
    self = digest
  }

  /// Encodes 64 hexadecimal digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}
