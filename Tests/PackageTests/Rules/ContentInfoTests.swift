import HostedModel
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedPackage

@Suite("ContentInfo.plist")
struct ContentInfoTests {
  private func read(_ text: String) throws -> ContentInfo {
    try ContentInfo(propertyList: Array(text.utf8))
  }

  @Test("An XML list is read, and unknown keys are ignored")
  func xml() throws {
    let text = contentInfoText("com.example.a", "1.10")
    let more = "<dict><key>Files</key><array><dict/></array>"
    for list in [text, "\u{feff}\n" + text, text.replacing("<dict>", with: more)] {
      #expect(try read(list).version.rawValue == "1.10")
      #expect(try read(list).productIdentifier.rawValue == "com.example.a")
    }
  }

  @Test("A content identifier is read, and without the key it is the product's")
  func content() throws {
    let named = try read(contentInfoText("com.example.a", "1.0", content: "com.example.a.audio"))
    #expect(named.contentIdentifier.rawValue == "com.example.a.audio")
    #expect(named.productIdentifier.rawValue == "com.example.a")
    #expect(
      try read(contentInfoText("com.example.a")).contentIdentifier.rawValue == "com.example.a")
  }

  @Test(
    "An invalid content identifier is refused, and the message names the key",
    arguments: ["<string></string>", "<string>../a</string>", "<string>CACHEDIR.TAG</string>"]
      + ["<string>a b</string>", "<string>.a</string>", "<integer>1</integer>", "<array/>"])
  func badContent(value: String) {
    let text = contentInfoText(content: "x").replacing("<string>x</string>", with: value)
    let error = #expect(throws: ContentError.self) { _ = try read(text) }
    #expect(error?.code == .contentInfoInvalid)
    #expect(error?.message.contains("HCContentIdentifier") == true)
  }

  @Test("A binary list is read")
  func binary() throws {
    let bytes: [UInt8] =
      Array("bplist00".utf8) + [0xd2, 1, 2, 3, 4] + [0x5e] + Array("ContentVersion".utf8)
      + [0x5f, 0x10, 20] + Array("IAPProductIdentifier".utf8) + [0x53] + Array("2.5".utf8)
      + [0x53] + Array("a.b".utf8) + [8, 13, 28, 51, 55]
      + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 5] + [0, 0, 0, 0, 0, 0, 0, 0]
      + [0, 0, 0, 0, 0, 0, 0, 59]
    #expect(try ContentInfo(propertyList: bytes).version.rawValue == "2.5")
  }

  /// Returns a valid binary list with `parts` after its seven own parts; it refers to number 7.
  private func binaryList(_ parts: [[UInt8]]) -> [UInt8] {
    func text(_ text: String) -> [UInt8] {
      [0x5f, 0x10, UInt8(text.utf8.count)] + Array(text.utf8)
    }
    let own: [[UInt8]] = [
      [0xd3, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 7],
      text("ContentVersion"), text("IAPProductIdentifier"), text("x"), text("2.5"), text("a.b"),
      [0x09],
    ]
    var (bytes, offsets) = (Array("bplist00".utf8), [UInt8]())
    for part in own + parts {
      offsets += XarWriter.number(bytes.count, 4)
      bytes += part
    }
    let numbers = [own.count + parts.count, 0, bytes.count].flatMap { XarWriter.number($0, 8) }
    return bytes + offsets + [0, 0, 0, 0, 0, 0, 4, 2] + numbers
  }

  @Test("The parts of a binary list may be shared")
  func shared() throws {
    let array: [UInt8] = [0xa4, 0, 8, 0, 8, 0, 6, 0, 1]
    let list = binaryList([array, [0xa2, 0, 1, 0, 2]])
    #expect(try ContentInfo(propertyList: list).version.rawValue == "2.5")
  }

  @Test("A binary list that contains itself or grows without a limit is refused", .slow)
  func growing() {
    func arrays(_ count: Int, references: Int) -> [[UInt8]] {
      (8..<(8 + count)).map { next -> [UInt8] in
        [0xa0 | UInt8(references)] + (0..<references).flatMap { _ in XarWriter.number(next, 2) }
      } + [[0xa0]]
    }
    let long: [UInt8] =
      [0x4f, 0x11] + XarWriter.number(60_000, 2) + [UInt8](repeating: 1, count: 60_000)
    let ofLong: [UInt8] = [0xaf, 0x10, 100] + (0..<100).flatMap { _ in XarWriter.number(8, 2) }
    let lists: [[[UInt8]]] = [
      [[0xa1, 0, 7]], [[0xa1, 0, 0]], arrays(40, references: 14), arrays(10_000, references: 1),
      [ofLong, long], [[0xa1, 0xff, 0xff]], [[0xa5, 0, 1]],
    ]
    for parts in lists {
      #expect(code { _ = try ContentInfo(propertyList: binaryList(parts)) } == .contentInfoInvalid)
    }
  }

  @Test(
    "An invalid list or one without both keys is refused",
    arguments: [
      "", " ", "{ ContentVersion = \"1.0\"; IAPProductIdentifier = a; }", "<plist>", "bplist00",
      "<?xml version=\"1.0\"?>", "<plist version=\"1.0\"><array/></plist>",
      "<plist version=\"1.0\"><dict><key>ContentVersion</key><string>1</string></dict></plist>",
      contentInfoText("com.example.a", "1.0-beta"), contentInfoText("com.example.a", ""),
      contentInfoText("../a", "1.0"), contentInfoText("", "1.0"),
      contentInfoText().replacing("<string>1.0</string>", with: "<real>1.0</real>"),
      contentInfoText().replacing("</dict>", with: ""),
      String(contentInfoText().prefix(150)),
      contentInfoText().replacing("<plist", with: "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist"),
    ])
  func bad(text: String) {
    #expect(code { _ = try read(text) } == .contentInfoInvalid)
  }

  @Test("A list that is nested too deeply is refused before the stack overflows")
  func deep() {
    let arrays = String(repeating: "<array>", count: 100_000)
    #expect(code { _ = try read("<plist><dict><key>x</key>" + arrays) } == .contentInfoInvalid)
    let hidden = String(repeating: "<array><!--</array>-->", count: 40_000)
    #expect(code { _ = try read("<plist>" + hidden) } == .contentInfoInvalid)
  }

  @Test("A list of more than 1 MiB is refused")
  func long() {
    let text = contentInfoText() + String(repeating: " ", count: 1 << 20)
    #expect(code { _ = try read(text) } == .contentInfoInvalid)
  }

  @Test("A NUL in a path is refused")
  func nul() {
    var rules = EntryRules(limits: .standard, isContent: true)
    let entry = ArchiveEntry(
      path: Array("Contents/a\u{0}b".utf8), kind: .file, permissions: 0o644, size: 0)
    #expect(rules.check(entry).findings.map(\.rule) == ["path-control"])
  }
}
