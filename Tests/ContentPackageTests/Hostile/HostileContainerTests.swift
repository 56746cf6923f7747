import ContentModel
import ContentPackage
import FileIO
import Foundation
import TestSupport
import TestTraits
import Testing

/// An attack that only one format can express.
struct ContainerAttack: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let code: ContentError.Code
  let bytes: @Sendable () throws -> [UInt8]

  init(
    _ name: String, _ code: ContentError.Code = .archiveDamaged,
    _ bytes: @escaping @Sendable () throws -> [UInt8]
  ) {
    testDescription = name
    self.code = code
    self.bytes = bytes
  }
}

@Suite("Attacks on zip, which stores everything twice", .long)
struct HostileZipTests {
  private static let entries: [RawEntry] = [
    .info(), .file("Contents/a", "alpha"), .file("Contents/b", "beta"),
  ]

  private static func attack(
    _ name: String, _ code: ContentError.Code = .archiveDamaged,
    _ change: @escaping @Sendable (inout ZipWriter) -> Void
  ) -> ContainerAttack {
    ContainerAttack(name, code) {
      var writer = ZipWriter(entries)
      change(&writer)
      return writer.bytes
    }
  }

  static let attacks: [ContainerAttack] = [
    attack("the local name leads outside") { $0.entries[1].local.name = Array("../evil_".utf8) },
    attack("the directory's name leads outside") {
      $0.entries[1].central.name = Array("../evil_".utf8)
    },
    attack("the local name differs") { $0.entries[1].local.name = Array("Contents/c".utf8) },
    attack("the local length differs") { $0.entries[1].local.plain = 4 },
    attack("the local compressed length differs") { $0.entries[1].local.packed = 4 },
    attack("the directory's length differs") { $0.entries[1].central.packed = 4 },
    attack("the directory's length overlaps the next entry") {
      $0.entries[1].central.packed = 40
      $0.entries[1].local.packed = 40
      $0.entries[1].central.plain = 40
      $0.entries[1].local.plain = 40
    },
    attack("the checksums differ") { $0.entries[1].central.checksum ^= 1 },
    attack("both checksums are wrong") {
      $0.entries[1].central.checksum ^= 1
      $0.entries[1].local.checksum ^= 1
    },
    attack("the methods differ") { $0.entries[1].central.method = 8 },
    attack("an unknown method", .formUnknown) {
      $0.entries[1].central.method = 99
      $0.entries[1].local.method = 99
    },
    attack("only one of the headers has the encryption flag") { $0.entries[1].local.flags |= 1 },
    attack("the entry is encrypted", .formUnknown) {
      $0.entries[1].local.flags |= 1
      $0.entries[1].central.flags |= 1
    },
    attack("the names are encoded differently") { $0.entries[1].local.flags = 0 },
    attack("two entries share their data") { $0.entries[2].offset = 0 },
    attack("an entry inside the data of another one") {
      let inner = ZipWriter([.file("Contents/b", "beta")]).bytes.prefix(44)
      $0.entries[1].data = Array(inner)
      for header in [\ZipWriter.Entry.local, \.central] {
        $0.entries[1][keyPath: header].packed = 44
        $0.entries[1][keyPath: header].plain = 44
        $0.entries[1][keyPath: header].checksum = crc32(Array(inner))
      }
      $0.entries[2].offset = $0.entries[0].data.count + 30 + 17 + 30 + 10
    },
    attack("an entry that is not in the directory") {
      $0.gaps[1] = Array(ZipWriter([.file("Contents/x")]).bytes.prefix(41))
    },
    attack("an entry beyond the archive") { $0.entries[2].offset = 1 << 30 },
    attack("an entry in the directory itself") { $0.entries[2].offset = $0.bytes.count - 100 },
    attack("fewer entries than in the end record") { $0.end.count = 4 },
    attack("more entries than in the end record") { $0.end.count = 2 },
    attack("no entries in the end record") { $0.end.count = 0 },
    attack("a directory with a wrong length") { $0.end.length = 500 },
    attack("a directory with the maximum length") { $0.end.length = 0xffff_fffe },
    attack("a directory with a wrong offset") { $0.end.offset = 3 },
    attack("a second end record in the comment") {
      $0.end.comment = Array(ZipWriter([.file("../evil")]).bytes.suffix(22))
    },
    attack("a whole second archive in the comment") {
      $0.end.comment = ZipWriter([.file("../evil")]).bytes
    },
    attack("bytes between the directory and the end record") { $0.end.before = [1, 2, 3] },
    attack("a missing zip64 directory") { $0.end.offset = 0xffff_ffff },
    attack("a zip64 locator with an invalid offset") {
      $0.end.before =
        [0x50, 0x4b, 6, 7] + ZipWriter.number(0, 4) + ZipWriter.number(.max, 8)
        + ZipWriter.number(1, 4)
    },
    attack("a zip64 end record that differs") {
      let plain = $0.bytes.count - 22
      let record =
        [0x50, 0x4b, 6, 6] + ZipWriter.number(44, 8) + ZipWriter.number(45, 4)
        + ZipWriter.number(0, 8) + ZipWriter.number(1, 8) + ZipWriter.number(1, 8)
        + ZipWriter.number(63, 8) + ZipWriter.number(0, 8)
      $0.end.before =
        record + [0x50, 0x4b, 6, 7] + ZipWriter.number(0, 4) + ZipWriter.number(plain, 8)
        + ZipWriter.number(1, 4)
    },
    attack("a missing 64-bit length") { $0.entries[1].central.plain = 0xffff_ffff },
    attack("the maximum 64-bit length") {
      $0.entries[1].central.plain = 0xffff_ffff
      $0.entries[1].central.packed = 0xffff_ffff
      $0.entries[1].central.extra = ZipWriter.large(.max, .max)
    },
    attack("64-bit lengths, twice") {
      $0.entries[1].central.plain = 0xffff_ffff
      $0.entries[1].central.extra = ZipWriter.large(5) + ZipWriter.large(6)
    },
    attack("a second name in an extra field") {
      let name = Array("../evil_".utf8)
      $0.entries[1].central.extra =
        ZipWriter.number(0x7075, 2) + ZipWriter.number(5 + name.count, 2) + [1, 0, 0, 0, 0] + name
    },
    attack("a descriptor with an invalid length") {
      $0.entries[1].local.flags |= 8
      $0.entries[1].central.flags |= 8
      $0.gaps[2] = [1, 2, 3, 4, 5]
    },
    ContainerAttack("only an end record") { Array(ZipWriter([]).bytes) },
    ContainerAttack("no end record") { Array(ZipWriter(entries).bytes.dropLast(22)) },
    ContainerAttack("bytes before the first entry", .formUnknown) {
      Array("MZ junk".utf8) + ZipWriter(entries).bytes
    },
  ]

  @Test("Refused, and nothing is left", arguments: attacks)
  func refused(_ attack: ContainerAttack) throws {
    try expectRefused(attack.bytes(), [attack.code, .contentInfoInvalid])
  }

  @Test("Correct 64-bit lengths, descriptors and comments are read")
  func honest() throws {
    var writer = ZipWriter(Self.entries)
    writer.end.comment = Array("Chapter 1".utf8)
    for header in [\ZipWriter.Entry.local, \.central] {
      writer.entries[1][keyPath: header].plain = 0xffff_ffff
      writer.entries[1][keyPath: header].packed = 0xffff_ffff
      writer.entries[1][keyPath: header].extra = ZipWriter.large(5, 5)
    }
    #expect(try HostileOutcome(writer.bytes).error == nil)
    let folder = try chapterFolder()
    for options in [[], ["--options", "zip:compression=store"], ["--options", "zip:zip64"]] {
      let bytes = try bsdtar(["--format", "zip"] + options, folder: folder.path)
      #expect(try examine(bytes).isValid, "\(options)")
    }
  }
}

@Suite("Attacks on the table of contents of xar", .long)
struct HostileXarTests {
  /// Creates a xar of ContentInfo.plist and a file with these elements, with its bytes at `heap`.
  private static func xar(
    _ file: @Sendable (_ offset: Int) -> String, heap: String = "alpha", prolog: String? = nil
  ) -> [UInt8] {
    var writer = XarWriter([.info()])
    writer.files += file(writer.heap.count)
    writer.heap += Array(heap.utf8)
    if let prolog { writer.prolog = prolog }
    return writer.bytes
  }

  private static func file(
    _ data: String, name: String = "Contents/a", type: String = "<type>file</type>"
  ) -> String {
    "<file id=\"9\"><name>\(name)</name>\(type)<mode>0644</mode>\(data)</file>"
  }

  private static func data(
    _ name: String, _ code: ContentError.Code = .archiveDamaged,
    _ data: @escaping @Sendable (Int) -> String
  ) -> ContainerAttack {
    ContainerAttack(name, code) { xar { file(data($0)) } }
  }

  private static func name(
    _ text: String, _ code: ContentError.Code, _ element: String, prolog: String? = nil
  ) -> ContainerAttack {
    ContainerAttack(text, code) {
      xar({ file(XarWriter.data(offset: $0, length: 5, size: 5), name: element) }, prolog: prolog)
    }
  }

  private static let bomb = """
    <?xml version="1.0"?><!DOCTYPE xar [<!ENTITY a0 "aaaaaaaaaa">\
    \((1...9).map { level in
      "<!ENTITY a\(level) \"" + String(repeating: "&a\(level - 1);", count: 10) + "\">"
    }.joined())]>
    """

  static let attacks: [ContainerAttack] = [
    data("bytes that start after the archive") { _ in
      XarWriter.data(offset: 1 << 20, length: 5, size: 5)
    },
    data("bytes that start far after the archive") { _ in
      XarWriter.data(offset: .max, length: 5, size: 5)
    },
    data("bytes that start before the heap") { _ in
      XarWriter.data(offset: -40, length: 5, size: 5)
    },
    data("more bytes than the archive has") { XarWriter.data(offset: $0, length: 50, size: 50) },
    data("a huge length", .limitExceeded) {
      XarWriter.data(offset: $0, length: .max, size: .max)
    },
    data("a negative length") { XarWriter.data(offset: $0, length: -5, size: -5) },
    data("a size that exceeds its bytes") {
      XarWriter.data(offset: $0, length: 5, size: 500)
    },
    data("a wrong encoding") {
      XarWriter.data(offset: $0, length: 5, size: 5, encoding: "application/x-gzip")
    },
    data("an unknown encoding") {
      XarWriter.data(offset: $0, length: 5, size: 5, encoding: "application/x-none")
    },
    data("a wrong checksum") {
      XarWriter.data(
        offset: $0, length: 5, size: 5,
        more:
          "<extracted-checksum style=\"sha1\">\(String(repeating: "0", count: 40))</extracted-checksum>"
      )
    },
    name("a name with character references", .entryRefused, "&#x2e;&#46;/evil"),
    name("a name in a CDATA section", .entryRefused, "<![CDATA[../evil]]>"),
    name("a name in Base64", .entryRefused, "x</name><name enctype=\"base64\">Li4vZXZpbA=="),
    name("two names", .entryRefused, "Contents/a</name><name>../evil"),
    name(
      "a name with an entity", .archiveDamaged, "&e;",
      prolog: "<?xml version=\"1.0\"?><!DOCTYPE xar [<!ENTITY e \"../evil\">]>"),
    name(
      "a name with an external entity", .archiveDamaged, "&e;",
      prolog: "<?xml version=\"1.0\"?><!DOCTYPE xar [<!ENTITY e SYSTEM \"file:///etc/hostname\">]>"),
    name("a name with exponential entities", .archiveDamaged, "&a9;", prolog: bomb),
    ContainerAttack("a hard link before its file") {
      xar {
        file("", name: "Contents/l", type: "<type link=\"77\">hardlink</type>")
          + file(XarWriter.data(offset: $0, length: 5, size: 5))
      }
    },
    ContainerAttack("very deeply nested files", .limitExceeded) {
      var writer = XarWriter([.info()])
      writer.files += String(repeating: "<file><name>a</name><type>directory</type>", count: 400)
      return writer.bytes
    },
    ContainerAttack("a table that is too long", .limitExceeded) {
      var writer = XarWriter([.info()])
      writer.plainLength = 1 << 40
      return writer.bytes
    },
    ContainerAttack("a compressed table that is too long", .limitExceeded) {
      var writer = XarWriter([.info()])
      writer.packedLength = 1 << 40
      return writer.bytes
    },
    ContainerAttack("a table that is longer than declared") {
      var writer = XarWriter([.info()])
      writer.plainLength = 100
      return writer.bytes
    },
    ContainerAttack("a truncated table") { Array(XarWriter([.info()]).bytes.prefix(200)) },
    ContainerAttack("a table without an end") {
      var writer = XarWriter([.info()])
      writer.files += "<file id=\"8\"><name>Contents"
      return writer.bytes
    },
    ContainerAttack("a header that is too short") {
      var bytes = XarWriter([.info()]).bytes
      bytes[5] = 20
      return bytes
    },
    ContainerAttack("a header that is longer than the archive") {
      var bytes = XarWriter([.info()]).bytes
      (bytes[4], bytes[5]) = (0xff, 0xff)
      return bytes
    },
    ContainerAttack("two payloads", .formUnknown) {
      let payload = cpio([.info(), .folder("Contents")])
      return productWriter(["a.pkg": ["Payload": payload], "b.pkg": ["Payload": payload]]).bytes
    },
    ContainerAttack("no payload", .formUnknown) { productWriter(["a.pkg": [:]]).bytes },
    ContainerAttack("installer scripts", .executableContent) {
      let payload = cpio([.info(), .folder("Contents")])
      return productWriter(["a.pkg": ["Payload": payload, "Scripts": [1]]]).bytes
    },
    data("two offsets of a file") {
      XarWriter.data(offset: $0, length: 5, size: 5, more: "<offset>0</offset>")
    },
    ContainerAttack("two types of a hard link, which libarchive reads as a cycle") {
      xar {
        file(
          XarWriter.data(offset: $0, length: 5, size: 5),
          type: "<type link=\"original\">hardlink</type><type link=\"original\">hardlink</type>")
      }
    },
    ContainerAttack("two files with the same identifier") {
      xar { _ in file("", name: "Contents/a") + file("", name: "Contents/b") }
    },
    ContainerAttack("a tag with an ambiguous end") {
      xar { _ in "<file id=\"9\" x=\"></file>\"><name>../evil</name></file>" }
    },
    ContainerAttack("an element of another namespace") {
      xar { _ in "<file id=\"9\"><x:name>../evil</x:name><type>file</type></file>" }
    },
  ]

  @Test("Refused, and nothing is left", arguments: attacks)
  func refused(_ attack: ContainerAttack) throws {
    try expectRefused(attack.bytes(), [attack.code, .entryRefused, .archiveDamaged])
  }

  @Test("Too many files are refused", .enabled(if: SlowTests.areOn))
  func files() throws {
    var writer = XarWriter([.info()])
    writer.files += String(repeating: "<file id=\"1\"><name>a</name></file>", count: 200_001)
    try expectRefused(writer.bytes, [.limitExceeded])
  }

  @Test("Files that share their bytes become two files, or are refused")
  func shared() throws {
    let bytes = Self.xar { offset in
      let data = XarWriter.data(offset: offset, length: 5, size: 5)
      return Self.file(data)
        + Self.file(data, name: "Contents/b").replacingOccurrences(of: "id=\"9\"", with: "id=\"8\"")
    }
    let outcome = try HostileOutcome(bytes)
    #expect(outcome.outside == ["inside"])
    #expect(outcome.error?.group == .package || outcome.left.contains("target/Contents/b"))
  }
}

@Suite("Attacks on tar, which has names in several headers", .long)
struct HostileTarTests {
  private static let evil = Array("../evil".utf8)

  private static func raw(_ type: Character, _ data: [UInt8], path: String = "x") -> RawEntry {
    RawEntry(path: Array(path.utf8), type: type.asciiValue ?? 0, data: data)
  }

  private static func pax(_ records: [(String, String)], type: Character = "x") -> RawEntry {
    raw(type, records.flatMap { paxRecord($0.0, Array($0.1.utf8)) })
  }

  private static func attack(
    _ name: String, code: ContentError.Code = .entryRefused,
    _ entries: @autoclosure @escaping @Sendable () -> [RawEntry]
  ) -> ContainerAttack {
    ContainerAttack(name, code) { tar([.info()] + entries()) }
  }

  static let attacks: [ContainerAttack] = [
    attack(
      "an extended name that leads outside", [pax([("path", "../evil")]), .file("Contents/a")]),
    attack(
      "two extended names",
      [
        pax([("path", "Contents/a"), ("path", "../evil")]), .file("Contents/b"),
      ]),
    attack(
      "an extended name that contains a NUL",
      [
        pax([("path", "Contents/a\0/../../evil")]), .file("Contents/a"), .file("Contents/a"),
      ]),
    attack(
      "an extended target that leads outside",
      [
        pax([("linkpath", "../../evil")]), .link("Contents/l", "a"),
      ]),
    attack(
      "a long name and an extended one that differ",
      [
        pax([("path", "../evil")]), gnuHeader("L", Array("../evil".utf8)), .file("Contents/a"),
      ]),
    attack(
      "two long names",
      [
        gnuHeader("L", Array("Contents/a".utf8)), gnuHeader("L", Array("../evil".utf8)),
        .file("Contents/b"),
      ]),
    attack(
      "a long target that leads outside",
      [
        gnuHeader("K", Array("../../evil".utf8)), .link("Contents/l", "a"),
      ]),
    attack(
      "a long name without an entry", code: .archiveDamaged,
      [gnuHeader("L", Array("Contents/a".utf8))]),
    attack(
      "a pax header without an entry", code: .archiveDamaged, [pax([("path", "Contents/a")])]),
    attack(
      "a record that is longer than its header", code: .archiveDamaged,
      [
        raw("x", Array("99 path=Contents/a\n".utf8)), .file("Contents/b"),
      ]),
    attack(
      "a record without a length", code: .archiveDamaged,
      [
        raw("x", Array("path=Contents/a\n".utf8)), .file("Contents/b"),
      ]),
    attack(
      "a huge length in an extended header", code: .limitExceeded,
      [
        pax([("size", "9223372036854775807")]), .file("Contents/a"),
      ]),
    attack(
      "a negative length in an extended header", code: .archiveDamaged,
      [
        pax([("size", "-1")]), .file("Contents/a"),
      ]),
    attack(
      "a huge sparse file", code: .limitExceeded,
      [
        pax([
          ("GNU.sparse.major", "0"), ("GNU.sparse.minor", "1"),
          ("GNU.sparse.size", "99999999999999"),
          ("GNU.sparse.map", "0,1"), ("GNU.sparse.name", "Contents/a"),
        ]), .file("Contents/b"),
      ]),
    attack(
      "a sparse file whose name leads outside",
      [
        pax([
          ("GNU.sparse.major", "0"), ("GNU.sparse.minor", "1"), ("GNU.sparse.size", "1"),
          ("GNU.sparse.map", "0,1"), ("GNU.sparse.name", "../evil"),
        ]), .file("Contents/b"),
      ]),
    attack(
      "a sparse file with overlapping parts", code: .archiveDamaged,
      [
        pax([
          ("GNU.sparse.major", "0"), ("GNU.sparse.minor", "1"), ("GNU.sparse.size", "100"),
          ("GNU.sparse.map", "50,10,0,90"), ("GNU.sparse.name", "Contents/a"),
        ]), .file("Contents/b", String(repeating: "x", count: 100)),
      ]),
    attack(
      "a prefix that leads outside",
      [
        RawEntry(path: Array("Contents/a".utf8), link: [], data: []), .file("../x/evil"),
      ]),
    ContainerAttack("a header with a wrong checksum") {
      var bytes = tar([.info(), .file("Contents/a"), .file("Contents/b")])
      bytes[bytes.count - 1024 - 1024 + 3] ^= 1
      return bytes
    },
    ContainerAttack("more entries after the end-of-archive block") {
      tar([.info(), .file("Contents/a")]) + tar([.file("../evil")])
    },
    ContainerAttack("a folder with data", .entryRefused) {
      var folder = RawEntry.folder("Contents/d/")
      folder.data = Array("hidden".utf8)
      return tar([.info(), folder])
    },
  ]

  @Test("Refused, and nothing is left", arguments: attacks)
  func refused(_ attack: ContainerAttack) throws {
    try expectRefused(attack.bytes(), [attack.code, .archiveDamaged])
  }

  @Test("A global extended name, which only some programs support, is ignored")
  func globalName() throws {
    let bytes = tar([.info(), Self.pax([("path", "../evil")], type: "g"), .file("Contents/a")])
    let outcome = try HostileOutcome(bytes)
    #expect(outcome.outside == ["inside"])
    #expect(
      outcome.left == [
        "target", "target/ContentInfo.plist", "target/Contents", "target/Contents/a",
      ])
  }

  @Test(
    "Extra bytes after the compressed data are refused", arguments: ["-z", "-J", "--zstd", "-j"])
  func behindTheStream(option: String) throws {
    let folder = try chapterFolder()
    let bytes = try bsdtar([option], folder: folder.path)
    #expect(try HostileOutcome(bytes).error == nil)
    try expectRefused(bytes + Array("more bytes than a magic number has".utf8), [.archiveDamaged])
    // A second stream continues the decompressed bytes of the first one.
    try expectRefused(bytes + bytes, [.archiveDamaged])
  }
}

@Suite("Attacks on cpio and pbzx, in a product archive", .long)
struct HostilePayloadTests {
  private static let entries: [RawEntry] = [.info(), .file("Contents/a", "alpha")]

  private static func number(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }
  }

  /// Creates a newc archive whose second header has `digits` at `field`.
  private static func newcField(_ field: Int, _ digits: String) -> [UInt8] {
    var bytes = cpioNewc(entries)
    let start = cpioNewc([entries[0]]).count - cpioNewc([]).count
    bytes.replaceSubrange((start + field)..<(start + field + 8), with: Array(digits.utf8))
    return bytes
  }

  static let attacks: [ContainerAttack] = [
    ContainerAttack("a cpio without its trailer") { Array(cpio(entries).dropLast(87)) },
    ContainerAttack("an empty name") { newcField(94, "00000000") },
    ContainerAttack("a name longer than the archive") { newcField(94, "00ffffff") },
    ContainerAttack("a name with the maximum length") { newcField(94, "ffffffff") },
    ContainerAttack("a file with the maximum length", .limitExceeded) { newcField(54, "ffffffff") },
    ContainerAttack("invalid digits") { newcField(54, "0000g000") },
    ContainerAttack("a name with more bytes after a NUL") {
      cpio([.info(), RawEntry(path: Array("Contents/a\0/../../../evil".utf8))])
    },
    ContainerAttack("two magic numbers in one archive") {
      Array(cpio([.info()]).dropLast(87)) + cpioNewc([.file("Contents/a")])
    },
    ContainerAttack("an empty payload") { [] },
    ContainerAttack("a pbzx stream without chunks") { Array("pbzx".utf8) + number(1 << 24) },
    ContainerAttack("a chunk longer than the others") {
      Array("pbzx".utf8) + number(64) + number(1000) + number(UInt64(cpio(entries).count))
        + cpio(entries)
    },
    ContainerAttack("a chunk with the maximum length") {
      Array("pbzx".utf8) + number(1 << 24) + number(.max) + number(.max) + cpio(entries)
    },
    ContainerAttack("the maximum chunk length") {
      Array("pbzx".utf8) + number(.max) + number(8) + number(8) + Array("07070100".utf8)
    },
    ContainerAttack("a shorter chunk in the middle") {
      let plain = cpio(entries)
      let rest = number(UInt64(plain.count - 10))
      return Array("pbzx".utf8) + number(64) + number(10) + number(10) + Array(plain.prefix(10))
        + rest + rest + Array(plain.dropFirst(10))
    },
    ContainerAttack("a pbzx inside a pbzx") {
      storedPbzx(storedPbzx(cpio(entries), chunk: 512), chunk: 512)
    },
    ContainerAttack("a payload inside a payload") { product(cpio(entries)) },
    ContainerAttack("a zip as the payload") { ZipWriter(entries).bytes },
    ContainerAttack("a tar as the payload") { tar(entries) },
  ]

  @Test("Refused, and nothing is left", arguments: attacks)
  func refused(_ attack: ContainerAttack) throws {
    try expectRefused(
      product(attack.bytes()), [attack.code, .archiveDamaged, .entryRefused, .limitExceeded])
  }
}
