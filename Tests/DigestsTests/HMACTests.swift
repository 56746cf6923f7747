import HostedModel
import HostedDigests
import Testing

@Suite("Message authentication codes")
struct HMACTests {
  @Test func `HMAC-SHA256 matches test case 2 of RFC 4231`() throws {
    let code = try HMAC.sha256(
      Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(
      Hexadecimal.text(of: code)
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test func `Codes are equal only if all bytes are equal`() {
    #expect(HMAC.isEqual([1, 2, 3], [1, 2, 3]))
    #expect(!HMAC.isEqual([1, 2, 3], [1, 2, 4]))
    #expect(!HMAC.isEqual([1, 2, 3], [1, 2]))
  }

  @Test func `MD5 matches a test case of RFC 1321`() throws {
    let digest = try DigestStream.bytes(.md5, of: Array("abc".utf8))
    #expect(Hexadecimal.text(of: digest) == "900150983cd24fb0d6963f7d28e17f72")
  }
}
