import HostedModel
import HostedPackage
import HostedFileIO

/// Packages and their indexes from untrusted sources.
extension FuzzTarget {
  /// An index that can be decoded must be encodable and usable for planning.
  static func index(_ bytes: [UInt8]) -> String? {
    guard let index = try? PackageIndex(encoded: bytes) else { return nil }
    guard index.isConsistent else { return "An inconsistent index was accepted" }
    guard (try? PackageIndex(encoded: index.encoded)) == index else {
      return "The encoded value differs from the decoded one"
    }
    guard
      let survey = try? PackageSurvey(
        of: index, name: "fuzzed", staging: nil, reusing: [], limits: limits)
    else { return nil }
    return survey.missingBytes <= index.packageLength
      ? nil : "The plan fetches more than the package has"
  }

  /// A valid package unpacks to the examined files; an invalid one does not unpack.
  static func package(_ bytes: [UInt8]) -> String? {
    guard
      let examination = try? examinePackage(MemorySource(bytes), name: "fuzzed", limits: limits)
    else { return unpack(bytes, nil) == nil ? nil : "A package of no known form was unpacked" }
    if let index = try? PackageIndex(
      indexing: MemorySource(bytes), entries: examination.entries), !index.isConsistent
    {
      return "An inconsistent index was built"
    }
    let found = unpack(bytes, examination)
    guard examination.isValid else {
      return found == nil ? nil : "A package that breaks a rule was unpacked"
    }
    return found == examination.entries ? nil : "A good package was not unpacked as examined"
  }

  /// Like `package`, for the payload of a product archive.
  static func payload(_ bytes: [UInt8]) -> String? { package(productArchive(payload: bytes)) }

  /// The table of contents of a xar with a small heap, and a ContentInfo.plist.
  static func table(_ bytes: [UInt8]) -> String? {
    if let info = try? ContentInfo(propertyList: bytes), info.version.rawValue.isEmpty {
      return "A property list without a version was taken"
    }
    // The maximum length of a stored deflate block.
    guard bytes.count < 1 << 16 else { return nil }
    return package(xar(table: bytes, heap: Array("heap".utf8)))
  }

  private static let limits: PackageLimits = {
    var limits = PackageLimits.standard
    limits.entryCount = 1000
    limits.totalSize = 1 << 20
    return limits
  }()

  /// Unpacks into a new folder; returns nil if it is refused or writes outside the folder.
  private static func unpack(_ bytes: [UInt8], _ examination: PackageExamination?)
    -> [IndexedFile]?
  {
    try? FileSystem.real.withTemporaryDirectory { outside in
      let inside = try outside.createDirectory("inside")
      let expected = examination?.info.map { ExpectedPackage($0, entries: nil) }
      let files = try unpackPackage(
        MemorySource(bytes), name: "fuzzed", into: inside, expected: expected, limits: limits,
        progress: { _ in })
      guard try outside.entries().map(\.name) == ["inside"] else { return [] }
      return files.map(\.entry)
    }
  }

  /// Returns a xar with Distribution and one component, stored.
  private static func productArchive(payload: [UInt8]) -> [UInt8] {
    let table = Array(
      """
      <?xml version="1.0"?><xar><toc><checksum style="none"><offset>0</offset><size>0</size></checksum>
      <file id="1"><name>Distribution</name><type>file</type><data><offset>0</offset><size>0</size>
      <length>0</length><encoding style="application/octet-stream"/></data></file>
      <file id="2"><name>a.pkg</name><type>directory</type><file id="3"><name>Payload</name>
      <type>file</type><data><offset>0</offset><size>\(payload.count)</size>
      <length>\(payload.count)</length><encoding style="application/octet-stream"/></data></file>
      </file></toc></xar>
      """.utf8)
    return xar(table: table, heap: payload)
  }

  /// Returns a xar with an uncompressed table without checksum.
  private static func xar(table: [UInt8], heap: [UInt8]) -> [UInt8] {
    func number(_ value: Int, _ width: Int) -> [UInt8] {
      (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - $0))) }
    }
    var (low, high) = (1, 0)
    for byte in table {
      low = (low + Int(byte)) % 65521
      high = (high + low) % 65521
    }
    let length = Array(number(table.count, 2).reversed())
    // RFC 1950 and 1951: one stored block.
    let packed =
      [0x78, 0x01, 1] + length + length.map { ~$0 } + table + number(high << 16 | low, 4)
    return Array("xar!".utf8) + number(28, 2) + number(1, 2) + number(packed.count, 8)
      + number(table.count, 8) + number(0, 4) + packed + heap
  }
}

/// A package in memory.
private final class MemorySource: ByteSource {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var length: Int64 { Int64(bytes.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    guard (0..<length).contains(offset) else { return 0 }
    let rest = bytes[Int(offset)...].prefix(buffer.count)
    buffer.copyBytes(from: rest)
    return rest.count
  }
}
