import HostedModel
import HostedTrust
import HostedTestSupport
import Testing

@Suite struct JSONWebSignatureTests {
  /// The header and `{"a":1}`, signed by OpenSSL with `key`.
  private static let message = "eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ"
  /// `{"a":2}`, which was not signed.
  private static let otherMessage = "eyJhbGciOiJFUzI1NiJ9.eyJhIjoyfQ"
  private static let key = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEoouOiCPwhTui+VJ9xyTY7KtLuf0I
    j35fhcAr4MwWaFDJvgnt2sHuFYTDZbHm7lVh9TTYo+DsZ2vO6XUosLQi3g==
    -----END PUBLIC KEY-----

    """

  @Test(
    "An ES256 signature is verified whatever its numbers begin with",
    arguments: [
      // r 42…, s a2…
      "QpFlYrEh6iHWUfOcvr8RAHCM_dQFIqAsCyOTuy96GxailC0J_Rd9mScEjVbMKGMQ6SV6cHmTf0LVWWJ3QhGLAA",
      // r aa…, s 63…
      "qlSU9S7vNnTQ95pQRPfgycrf65cmAeXgb72_x2MXdGdjhtaRS7q6QFcb3r7LLhSfe_iAswLfa9fff9nLUQW-mg",
      // r 00 c9…
      "AMkp7BZDWldjV0yG_EcaKYcsWrX-JtRzj7f0bmi_hsgbz1lmuZeH4yMZwKrIcNe1ZNC3o5yyOyymJaikHlB5-Q",
      // r 00 00 25…
      "AAAlBDukLVEatcEkLb8Z9TwEFwjILAWTy2VI_LK7hnngkmtSYomb6XsTMW4D4PSc95L17fNSlMWsaFFAqxGxxA",
      // s 00 60…
      "jJB7_rwSzGCf3uZG3KqY8sQAjvJ8bUwbcFZTUwOtFawAYEmRtCil6kOvUjgA9Ebyn7DgaNjPydIGkoqg3UrPtg",
    ])
  func firstBytes(signature: String) throws {
    let key = try #require(PublicKey(pem: Self.key))
    let token = try JSONWebSignature("\(Self.message).\(signature)")
    #expect(try token.claims(verifiedBy: key) == .object(["a": .integer(1)]))
    let other = try JSONWebSignature("\(Self.otherMessage).\(signature)")
    #expect(code { _ = try other.claims(verifiedBy: key) } == .receiptInvalid)
  }

  @Test("A signature of zeros, or of another length, is refused", arguments: [0, 63, 64, 65, 128])
  func zeros(count: Int) throws {
    let key = try #require(PublicKey(pem: Self.key))
    let zeros = Base64URL.text(of: [UInt8](repeating: 0, count: count))
    let token = try JSONWebSignature("\(Self.message).\(zeros)")
    #expect(code { _ = try token.claims(verifiedBy: key) } == .receiptInvalid)
  }
}
