import HostedModel
import HostedTestTraits
import Testing

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
