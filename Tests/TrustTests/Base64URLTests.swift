import HostedTrust
import HostedTestSupport
import Testing

@Suite("Base64url")
struct Base64URLTests {
  @Test("Encoding and decoding preserves bytes of every length, without padding")
  func roundTrip() {
    var random = SplitMix(state: 9)
    for count in 0..<70 {
      let bytes = random.bytes(count)
      let text = Base64URL.text(of: bytes)
      #expect(text.utf8.count == (count * 4 + 2) / 3)
      #expect(Base64URL.bytes(of: text) == bytes)
    }
    #expect(Base64URL.text(of: [0xfb, 0xff, 0xfe]) == "-__-")
  }

  @Test(
    "A second encoding of the same bytes is refused",
    arguments: [
      "YQ==", "YQ=", "YR", "YWJ", "+/8", "-_8=", "-_9", "-", "YQ\n", " YQ", "Y Q", "YQ\u{0}", "é_8",
      "\u{212a}Q", "YQ.", "=", "====",
    ])
  func strict(text: String) {
    #expect(Base64URL.bytes(of: text) == nil)
  }
}
