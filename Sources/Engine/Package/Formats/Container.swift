import HostedModel

/// The outermost layer, detected by its first bytes.
enum Container {
  case xar, zip
  case tar(ArchiveReader.Filter?)

  /// The format, as far as the first bytes determine it.
  var format: PackageFormat {
    switch self {
    case .xar: .xar
    case .zip: .zip
    case .tar: .tar
    }
  }

  init(_ source: any ByteSource) throws {
    let block = try source.bytes(at: 0, count: 512)
    if block.starts(with: Self.cpioMark) { throw Self.cpioFinding }
    guard let container = Self(first: block[...]) else {
      throw Finding.format(
        "format-unknown",
        block.isEmpty ? "The file is empty" : "The file is not a xar, zip or tar archive",
        remedy: "Build a package from a folder with Contents and ContentInfo.plist")
    }
    self = container
  }

  /// The first bytes of each cpio archive with text headers.
  static let cpioMark = Array("07070".utf8)

  static let cpioFinding = Finding.format(
    "format-cpio", "The file is a cpio archive (.cpio or .cpgz), which is not supported",
    remedy: "Build a zip or tar archive, or a package from a folder with ContentInfo.plist")

  private init?(first bytes: ArraySlice<UInt8>) {
    switch true {
    case bytes.starts(with: Array("xar!".utf8)): self = .xar
    case bytes.starts(with: [0x50, 0x4b, 3, 4]), bytes.starts(with: [0x50, 0x4b, 5, 6]): self = .zip
    case bytes.starts(with: [0x1f, 0x8b]): self = .tar(.gzip)
    case bytes.starts(with: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]): self = .tar(.xz)
    case bytes.starts(with: [0x28, 0xb5, 0x2f, 0xfd]): self = .tar(.zstd)
    case bytes.starts(with: Array("BZh".utf8)): self = .tar(.bzip2)
    case Self.isTarHeader(bytes): self = .tar(nil)
    default: return nil
    }
  }

  /// Returns whether the checksum of the header matches; it is the same in all tar formats.
  private static func isTarHeader(_ block: ArraySlice<UInt8>) -> Bool {
    guard block.count == 512 else { return false }
    let digits = block[148..<156].drop { $0 == 32 }.prefix { (48...55).contains($0) }
    guard !digits.isEmpty else { return false }
    let declared = digits.reduce(0) { $0 * 8 + Int($1 - 48) }
    let found = block.enumerated().reduce(0) { sum, byte in
      sum + ((148..<156).contains(byte.offset) ? 32 : Int(byte.element))
    }
    return declared == found
  }
}

/// The format of a package; it is detected by its bytes, not by its name.
package enum PackageFormat: String, Codable, Sendable, CaseIterable {
  /// A xar archive with `Distribution` and a nested component, as productbuild creates it.
  case flatProductArchive
  /// A xar archive with the content as its direct entries.
  case xar
  /// A zip archive.
  case zip
  /// A tar archive, uncompressed or compressed with gzip, xz, zstd or bzip2.
  case tar
}
