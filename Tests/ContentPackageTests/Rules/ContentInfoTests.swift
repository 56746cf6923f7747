import ContentModel
import TestSupport
import Testing

@testable import ContentPackage

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
