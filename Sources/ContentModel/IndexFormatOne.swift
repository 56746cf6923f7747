import FoundationEssentials

/// An index as the first format wrote it: JSON, and always by blocks.
///
/// Stores that were published with it stay readable, since downloads may be under way that an older
/// version of this software began.
struct IndexFormatOne: Decodable {
  private let format: Int
  private let packageLength: Int64
  private let blockLength: Int
  private let blocks: [Digest]
  private let files: [IndexedFile]

  /// Whether `bytes` are of this format, as far as the first one tells.
  static func begins(_ bytes: [UInt8]) -> Bool { bytes.first == UInt8(ascii: "{") }

  /// Reads `bytes`; throws what the decoder throws.
  init(json bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    guard format == 1 else { throw ContentError.indexFormatUnknown(format) }
  }

  var index: PackageIndex {
    PackageIndex(
      packageLength: packageLength, blockLength: blockLength, blocks: blocks,
      // Sorted as text then, by bytes now.
      files: files.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) },
      obstacle: "It was indexed by an older version of this software")
  }
}

extension ContentError {
  /// An index of a format that was made after this software.
  static func indexFormatUnknown(_ format: Int) -> ContentError {
    ContentError(
      .formUnknown,
      "The index of a package has the format \(format), and up to "
        + "\(PackageIndex.currentFormat) are read",
      remedy: "Use a newer version of this software")
  }
}
