import HostedModel
import HostedDigests
import Testing

@Suite("Digests")
struct DigestTests {
  @Test(
    "SHA-256 and SHA-1 match the test vectors of the standards",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
  func vectors(text: String, hex: String) throws {
    #expect(try Digest(of: Array(text.utf8)).hex == hex)
    var sha1 = DigestStream(.sha1)
    try Array("abc".utf8).withUnsafeBytes { try sha1.update($0) }
    #expect(
      Hexadecimal.text(of: try sha1.finishBytes()) == "a9993e364706816aba3e25717850c26c9cd0d89d")
  }

  @Test("A stream computes the digest of all parts and can be reused")
  func stream() throws {
    var stream = DigestStream()
    for part in ["a", "b", "c"] { try Array(part.utf8).withUnsafeBytes { try stream.update($0) } }
    #expect(try stream.finish() == Digest(of: Array("abc".utf8)))
    #expect(try stream.finish() == Digest(of: []))
  }
}
