import HostedModel
import HostedPackage
import HostedFileIO
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

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

  private static let wrongDigest = String(repeating: "0", count: 40)

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
        more: #"<extracted-checksum style="sha1">\#(wrongDigest)</extracted-checksum>"#)
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
      prolog: #"<?xml version="1.0"?><!DOCTYPE xar [<!ENTITY e SYSTEM "file:///etc/hostname">]>"#),
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
    ContainerAttack("two payloads", .formatUnknown) {
      let payload = cpio([.info(), .folder("Contents")])
      return productWriter(["a.pkg": ["Payload": payload], "b.pkg": ["Payload": payload]]).bytes
    },
    ContainerAttack("no payload", .formatUnknown) { productWriter(["a.pkg": [:]]).bytes },
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

  static let lzma = #"<encoding style="application/x-lzma"/>"#

  @Test(
    "A table cannot hide the window of a file from the check",
    arguments: [
      "<offset>OFFSET</offset><length>18</length>\(lzma)",
      // libarchive starts at 0.
      "<length>18</length>\(lzma)",
      // libarchive reads what there is.
      "<offset>OFFSET</offset><length>1000000</length>\(lzma)",
      "<offset>OFFSET</offset><length>1<!-- -->18</length>\(lzma)",
      "<offset>OFFSET</offset><length>18</length><!--><x> -->\(lzma)<!--></x> -->",
      """
      <offset>OFFSET</offset><length>18</length>\
      <encoding style="application/x-lzma"><x style="application/octet-stream"/></encoding>
      """,
      """
      <offset>OFFSET</offset><length>18</length>\
      <encoding a="b style=application/octet-stream" style="application/x-lzma"/>
      """,
      """
      <offset>OFFSET</offset><length>18</length>\
      <encoding xmlns:x="y" style="application/octet-stream" x:style="application/x-lzma"/>
      """,
    ])
  func hiddenWindow(elements: String) throws {
    try expectTableRefused("<data>\(elements)<size>5</size></data>")
  }

  @Test(
    "The bytes of an extended attribute have the limits of the bytes of a file",
    arguments: [
      "<offset>OFFSET</offset><length>18</length><size>5</size>\(lzma)",
      "<offset>OFFSET</offset><length>1000000</length><size>5</size>\(lzma)",
      "<offset>OFFSET</offset><length>18</length><size>1000000000</size>",
    ])
  func attributeLimits(elements: String) throws {
    try expectTableRefused("<ea><name>a</name>\(elements)</ea>")
  }

  /// Expects that a file with `elements` is refused before libarchive reads it.
  private func expectTableRefused(_ elements: String) throws {
    // The header of lzma, with a window of 256 MiB.
    let heap = "]\0\0\0\u{10}" + String(repeating: "\0", count: 13)
    let bytes = Self.xar(
      { Self.file(elements.replacingOccurrences(of: "OFFSET", with: "\($0)")) }, heap: heap)
    let finding = try #require(examine(bytes).findings.first)
    #expect(
      finding.rule == "limit-window" || finding.message.contains("xar table of contents"),
      "\(finding.message)")
  }

  @Test("A character reference in a name is read, so that installer scripts cannot hide behind it")
  func characterReference() throws {
    let payload = cpio([.info(), .folder("Contents")])
    var writer = productWriter(["a.pkg": ["Payload": payload, "Scripts": [1]]])
    writer.files = writer.files.replacingOccurrences(of: "Scripts", with: "S&#99;ript&#x73;")
    #expect(try examine(writer.bytes).findings.map(\.rule) == ["executable-scripts"])
  }

  @Test("Too many files are refused", .slow)
  func files() throws {
    var writer = XarWriter([.info()])
    writer.files += String(repeating: "<file id=\"1\"><name>a</name></file>", count: 200_001)
    try expectRefused(writer.bytes, [.limitExceeded])
  }

  @Test(
    "Entries that overlap and have more packed bytes than a package may contain are refused unread",
    arguments: ["x-xz", "x-lzma", "x-gzip", "x-bzip2", "octet-stream"])
  func overlapping(encoding: String) throws {
    var limits = PackageLimits.standard
    (limits.expansionRatio, limits.expansionAllowance, limits.entryCount) = (20, 0, 100)
    let heap = String(repeating: "\0", count: 100_000)
    for isAttribute in [false, true] {
      let bytes = Self.xar(
        { offset in
          (10...70).map { number in
            let data = XarWriter.data(
              offset: offset + number, length: 99_000, size: 1, encoding: "application/\(encoding)")
            let attribute = data.replacingOccurrences(of: "data>", with: "ea>")
            return Self.file(isAttribute ? attribute : data, name: "Contents/\(number)")
              .replacingOccurrences(of: "id=\"9\"", with: "id=\"\(number)\"")
          }.joined()
        }, heap: heap)
      let finding = try #require(examine(bytes, limits: limits).findings.first)
      #expect(finding.rule == "limit-size" && finding.message.contains("packed"), "\(finding)")
      #expect(finding.code == .limitExceeded)
    }
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
