import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import Testing

/// Archives that parsers may read differently, and packages inside packages.
@Suite("Ambiguous archives")
struct DesynchronizationTests {
  /// A record of an extended header.
  ///
  /// Its length includes itself.
  private static func record(_ key: String, _ value: String) -> String {
    let rest = " \(key)=\(value)\n"
    let length = rest.utf8.count + 2
    return "\(length)\(rest)"
  }

  private static func header(_ type: Character, _ text: String) -> RawEntry {
    RawEntry(
      path: Array("././@Header".utf8), type: type.asciiValue ?? 0, data: Array(text.utf8))
  }

  @Test(
    "Two names for one entry, one of them hostile, never lead outside",
    arguments: ["../../evil", "/tmp/hostedcontent-evil", "Contents/../../evil", "elsewhere/evil"])
  func names(evil: String) throws {
    let safe = "Contents/safe"
    for (pax, gnu) in [(safe, evil), (evil, safe), (evil, evil)] {
      let extended = Self.header("x", Self.record("path", pax))
      let long = Self.header("L", gnu + "\0")
      for headers in [[extended, long], [long, extended]] {
        let bytes = tar([.info()] + headers + [.file("Contents/plain")])
        let box = TemporaryFolderBox()
        let unpacked = try? Unpacked(bytes, into: box)
        // Either name may be used, but only a safe one.
        #expect(unpacked == nil || unpacked?.made.keys.contains(safe) == true)
        #expect(try box.folder().directory.entries().map(\.name) == ["inside"])
        #expect((try? examine(bytes))?.isValid ?? false == (unpacked != nil))
      }
    }
  }

  @Test("Two sizes for an entry hide nothing: examination and unpacking agree")
  func sizes() throws {
    let hidden = tar([.file("Contents/hidden", "smuggled")])
    for size in ["0", "8", "512", "99999999"] {
      let bytes = tar([
        .info(), Self.header("x", Self.record("size", size)),
        RawEntry(path: Array("Contents/outer".utf8), data: hidden),
      ])
      guard let examination = try? examine(bytes), examination.isValid else { continue }
      let unpacked = try Unpacked(bytes, expected: expectedPackage(entries: examination.entries))
      #expect(unpacked.files.map(\.entry) == examination.entries)
    }
  }

  @Test("A payload that is itself a package is refused, in each form")
  func payloadInPayload() throws {
    let inner = try builtChapter()
    let zip = try bsdtar(["--format", "zip"], folder: chapterFolderPath())
    for payload in [inner, zip, tar([.info(), .file("Contents/a")])] {
      let bytes = try flat(payload)
      #expect(try examine(bytes).isValid == false)
      #expect(code { _ = try Unpacked(bytes) } == .archiveDamaged)
    }
  }

  @Test("A file called Payload inside the content is a normal file")
  func fileCalledPayload() throws {
    let folder = try TemporaryFolder()
    try write(
      [
        "ContentInfo.plist": contentInfoText(), "Contents/x.pkg/Payload": "x",
        "Contents/Scripts": "y",
      ],
      to: folder.directory)
    let output = try TemporaryFolder()
    let built = try buildPackage(
      folder: folder.directory, output: output.directory, outputName: "a.pkg",
      productIdentifier: nil, version: nil)
    #expect(built.entries.map(\.path).contains("Contents/x.pkg/Payload"))
  }

  private let kept = TemporaryFolderBox()

  private func chapterFolderPath() throws -> String {
    let folder = try kept.folder()
    try write(chapter, to: folder.directory)
    return folder.path
  }

  /// Creates a product archive around any payload.
  private func flat(_ payload: [UInt8]) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    try folder.directory.createFile("Distribution").write(Array("<installer-gui-script/>".utf8))
    try folder.directory.createDirectory("chapter.pkg").createFile("Payload").write(payload)
    return try bsdtar(["--format", "xar"], folder: folder.path, ["Distribution", "chapter.pkg"])
  }
}
