import HostedModel
import Testing

@Suite("Printable text")
struct PrintableTextTests {
  @Test(
    "Characters that control a terminal or hide or reverse text are replaced",
    arguments: [
      "\u{0}", "\u{1b}", "\u{7f}", "\u{9b}", "\u{ad}", "\u{61c}", "\u{200b}", "\u{200d}",
      "\u{200e}", "\u{200f}", "\u{202a}", "\u{202e}", "\u{2060}", "\u{2066}", "\u{2069}",
      "\u{feff}", "\u{fff9}", "\u{e0001}",
      "\u{e0041}", "\u{e007f}", "\u{110bd}", "\u{378}", "\u{ffff}", "\u{10ffff}", "\u{34f}",
      "\u{115f}", "\u{3164}", "\u{ffa0}", "\u{180e}", "\u{e0100}",
    ] as [Unicode.Scalar])
  func replaced(scalar: Unicode.Scalar) {
    #expect("a\(scalar)b".printable() == "a\u{fffd}b")
  }

  @Test(
    "Visible characters are kept",
    arguments: [
      "", "plain ASCII ~", "späte Käfer", "e\u{301}", "本の第一章", "الفصل", "פרק", "บทที่ ๑", "ตี๋",
      "❤️", "👍🏽", "🇩🇪", "\u{a0}|\u{3000}", "\u{f8ff}", "“…”",
    ])
  func kept(text: String) {
    #expect(text.printable() == text)
  }

  @Test(
    "Line breaks and tabs become spaces",
    arguments: ["\t", "\n", "\u{b}", "\u{c}", "\r", "\u{85}", "\u{2028}", "\u{2029}"])
  func spaces(text: String) {
    #expect("a\(text)b".printable() == "a b")
  }

  @Test("A two-character line break, invalid bytes and joined emoji are replaced separately")
  func sequences() {
    #expect("a\r\nb".printable() == "a  b")
    #expect(
      String(decoding: [0x61, 0xff, 0xe2, 0x80], as: UTF8.self).printable() == "a\u{fffd}\u{fffd}")
    #expect("👩\u{200d}🚀".printable() == "👩\u{fffd}🚀")
  }

  @Test("Long texts end in an ellipsis, and long runs of combining marks are cut")
  func limits() {
    #expect("abcdef".printable(limit: 6) == "abcdef")
    #expect("abcdefg".printable(limit: 6) == "abcdef…")
    #expect("äöüäöüä".printable(limit: 6) == "äöüäöü…")
    #expect("abcdefg".printable(limit: 6).printable(limit: 6) == "abcdef…")
    let flood = "a" + String(repeating: "\u{301}", count: 10_000) + "b"
    #expect(flood.printable(limit: 100) == "a" + String(repeating: "\u{301}", count: 8) + "b")
    #expect(String(repeating: "x", count: 5_000).printable().count == 4_001)
  }
}
