import HostedModel
import HostedPackage
import HostedFileIO
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

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
    attack("an unknown method", .formatUnknown) {
      $0.entries[1].central.method = 99
      $0.entries[1].local.method = 99
    },
    attack("only one of the headers has the encryption flag") { $0.entries[1].local.flags |= 1 },
    attack("the entry is encrypted", .formatUnknown) {
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
    attack("a 64-bit length and a 64-bit offset that are greater than any signed number") {
      for header in [\ZipWriter.Entry.local, \.central] {
        $0.entries[1][keyPath: header].plain = 0xffff_ffff
        $0.entries[1][keyPath: header].packed = 0xffff_ffff
        $0.entries[1][keyPath: header].extra = ZipWriter.large(5, -1000)
      }
      $0.entries[2].offset = 0xffff_ffff
      $0.entries[2].central.extra = ZipWriter.large(-1)
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
    ContainerAttack("bytes before the first entry", .formatUnknown) {
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
