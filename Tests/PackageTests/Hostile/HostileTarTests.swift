import HostedModel
import HostedPackage
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

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
    "Extra bytes after the compressed data are refused", .slow,
    arguments: ["-z", "-J", "--zstd", "-j"])
  func behindTheStream(option: String) throws {
    let folder = try chapterFolder()
    let bytes = try bsdtar([option], folder: folder.path)
    #expect(try HostileOutcome(bytes).error == nil)
    try expectRefused(bytes + Array("more bytes than a magic number has".utf8), [.archiveDamaged])
    // A second stream continues the decompressed bytes of the first one.
    try expectRefused(bytes + bytes, [.archiveDamaged])
  }
}
