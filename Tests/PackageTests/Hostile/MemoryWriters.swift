import HostedCDeflate
import Testing

/// Packages of a few hundred kilobytes that would use much more memory.
enum Glutton: String, CaseIterable, Codable, CustomTestStringConvertible {
  case deepTable, lateInTable, attributesInTable, attributesOfTag, namesInParts, kindsOfElements,
    flagsInTable, otherEncoding, manyEntries, longPaths, longTargets, impliedFolders, sparseMap,
    badEntries, longCpioNames, wideList

  var testDescription: String { rawValue }

  var bytes: [UInt8] {
    switch self {
    case .deepTable:
      let folder = Self.name("d", 255)
      return Self.xar(
        (0..<254).map { Self.opening($0 + 3, folder) }.joined()
          + (0..<200_000).map { Self.opening($0 + 300, Self.name("n", 40)) + "</file>" }.joined()
          + String(repeating: "</file>", count: 254))
    case .lateInTable:
      let data = XarWriter.data(
        offset: 0, length: 0, size: 0,
        more: "<extracted-checksum style=\"sha1\">\(Self.name("0", 40))</extracted-checksum>")
      return Self.xar(
        (0..<39_990).map {
          Self.opening($0 + 3, Self.name("n", 180) + "\($0)") + "<mode>0644</mode>\(data)</file>"
        }.joined())
    case .attributesInTable:
      return Self.xar(
        Self.opening(3, "a") + String(repeating: "<ea/>", count: 1_000_000) + "</file>")
    case .attributesOfTag:
      return Self.xar("<x \((0..<100_000).map { "a\($0)=\"\"" }.joined(separator: " "))/>")
    case .namesInParts:
      return Self.xar(
        (0..<15).map { Self.opening($0 + 3, Self.name("d", 250)) }.joined()
          + "<file><name>\(String(repeating: "a<!---->", count: 100_000))</name></file>"
          + String(repeating: "</file>", count: 15))
    case .kindsOfElements: return Self.xar((0..<400_000).map { "<e\($0)/>" }.joined())
    case .flagsInTable:
      return Self.xar(
        Self.opening(3, "a")
          + "<ext2>\(String(repeating: "<nodump/>", count: 3_000_000))</ext2></file>")
    case .otherEncoding:
      let files = (0..<150_000).map { "<file><name>\(Self.name("n", 60))\($0)</name></file>" }
      let text =
        "<?xml version=\"1.0\" encoding=\"UTF-16\"?><xar><toc>\(files.joined())</toc></xar>"
      return Self.xar(table: [0xff, 0xfe] + text.utf8.flatMap { [$0, 0] })
    case .manyEntries: return Self.tar(99_000, .file("Contents/000000" + Self.name("n", 80), ""))
    case .longPaths:
      return Self.tar(40_000, .file("Contents/000000/" + Self.deep(4, 230) + "f", ""))
    case .longTargets: return Self.tar(40_000, .link("Contents/000000", Self.name("t", 1000)))
    case .impliedFolders:
      return Self.tar(8000, .file("Contents/000000/" + Self.deep(29, 30) + "f", ""))
    case .sparseMap:
      let map = Array(("3000000\n" + String(repeating: "0\n0\n", count: 3_000_000)).utf8)
      let records: [String: [UInt8]] = [
        "GNU.sparse.major": [49], "GNU.sparse.minor": [48], "GNU.sparse.realsize": [48],
        "GNU.sparse.name": Array("Contents/s".utf8),
      ]
      let sparse = RawEntry(path: Array("Contents/s".utf8), data: map)
      return gzipped(HostedPackageTests.tar([.info(), paxHeader(records), sparse, .file("../a")]))
    case .badEntries: return Self.tar(200_000, .file("../000000" + Self.name("n", 80), ""))
    case .longCpioNames:
      let long = RawEntry.file("Contents/" + Self.deep(16, 240), "")
      return product(gzipped(cpioNewc([.info()] + Array(repeating: long, count: 20_000))))
    case .wideList:
      let info = RawEntry(path: Array("ContentInfo.plist".utf8), data: Self.list)
      return gzipped(HostedPackageTests.tar([info, .file("../a")]))
    }
  }

  /// A binary property list with nested arrays of a thousand elements, three levels deep.
  private static var list: [UInt8] {
    func text(_ text: String) -> [UInt8] { [0x5f, 0x10, UInt8(text.utf8.count)] + text.utf8 }
    func array(of object: UInt8) -> [UInt8] {
      [0xaf, 0x11, 3, 232] + [UInt8](repeating: object, count: 1000)
    }
    let objects: [[UInt8]] = [
      [0xd3, 1, 2, 3, 4, 5, 6], text("ContentVersion"), text("IAPProductIdentifier"), text("other"),
      text("1.0"), text("com.example.test"), array(of: 7), array(of: 8), array(of: 9), text("x"),
    ]
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += XarWriter.number(bytes.count, 2)
      bytes += object
    }
    let place = bytes.count
    return bytes + offsets + [0, 0, 0, 0, 0, 0, 2, 1] + XarWriter.number(objects.count, 8)
      + XarWriter.number(0, 8) + XarWriter.number(place, 8)
  }

  private static func name(_ letter: String, _ count: Int) -> String {
    String(repeating: letter, count: count)
  }

  private static func deep(_ count: Int, _ length: Int) -> String {
    String(repeating: name("d", length) + "/", count: count)
  }

  private static func opening(_ id: Int, _ name: String) -> String {
    "<file id=\"\(id)\"><name>\(name)</name>"
  }

  /// Creates a xar with these files in Contents, followed by an invalid file.
  private static func xar(_ files: String) -> [UInt8] {
    let info = RawEntry.info()
    let table =
      "<?xml version=\"1.0\"?><xar><toc>" + XarWriter.file(info, id: 1, offset: 0)
      + "<file id=\"2\"><name>Contents</name><type>directory</type>\(files)</file>"
      + "<file id=\"9999999\"><name>../a</name><mode>0644</mode></file></toc></xar>"
    return xar(table: Array(table.utf8)) + info.data
  }

  private static func xar(table: [UInt8]) -> [UInt8] {
    let packed = packed(table, libdeflate_zlib_compress_bound, libdeflate_zlib_compress)
    return Array("xar!".utf8) + XarWriter.number(28, 2) + XarWriter.number(1, 2)
      + XarWriter.number(packed.count, 8) + XarWriter.number(table.count, 8)
      + XarWriter.number(0, 4) + packed
  }

  /// Creates a tar.gz of numbered entries like `sample` (its `000000`), and an invalid entry.
  private static func tar(_ count: Int, _ sample: RawEntry) -> [UInt8] {
    let mark = [UInt8](repeating: 48, count: 6)
    var blocks = HostedPackageTests.tar([sample], isEnded: false)
    if sample.link.count > 100 {
      blocks = HostedPackageTests.tar([gnuHeader("K", sample.link)], isEnded: false) + blocks
    }
    let places = blocks.indices.filter { blocks[$0...].starts(with: mark) && blocks[$0 - 1] == 47 }
    let checksum = blocks.count - 512 + 148
    let sum = blocks[checksum..<(checksum + 6)].reduce(0) { $0 * 8 + Int($1 - 48) }
    var bytes = HostedPackageTests.tar([.info()], isEnded: false)
    bytes.reserveCapacity(count * blocks.count + 4096)
    for number in 0..<count {
      var (rest, digits, added) = (number, mark, 0)
      for index in digits.indices.reversed() {
        digits[index] += UInt8(rest % 10)
        added += rest % 10
        rest /= 10
      }
      for place in places { blocks.replaceSubrange(place..<(place + 6), with: digits) }
      for index in 0..<6 {
        blocks[checksum + index] = UInt8(48 + (sum + added) >> (3 * (5 - index)) & 7)
      }
      bytes += blocks
    }
    return gzipped(bytes + HostedPackageTests.tar([.file("../a")]))
  }
}

/// Compresses the bytes into one gzip member.
func gzipped(_ bytes: [UInt8]) -> [UInt8] {
  packed(bytes, libdeflate_gzip_compress_bound, libdeflate_gzip_compress)
}

private func packed(
  _ bytes: [UInt8], _ bound: (OpaquePointer?, Int) -> Int,
  _ compress: (OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int) -> Int
) -> [UInt8] {
  let compressor = libdeflate_alloc_compressor(6)
  defer { libdeflate_free_compressor(compressor) }
  var packed = [UInt8](repeating: 0, count: bound(compressor, bytes.count))
  let count = packed.withUnsafeMutableBytes { buffer in
    compress(compressor, bytes, bytes.count, buffer.baseAddress, buffer.count)
  }
  return Array(packed[..<count])
}
