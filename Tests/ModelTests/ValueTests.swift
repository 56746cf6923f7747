@testable import HostedModel
import FoundationEssentials
import Testing

@Suite("Identifiers, versions and digests")
struct ValueTests {
  @Test(
    "Identifiers of letters, digits, periods, underscores and hyphens are accepted",
    arguments: ["a", "com.example.book_1-x", "9", String(repeating: "a", count: 200)])
  func goodIdentifiers(text: String) throws {
    #expect(try ProductIdentifier(validating: text).rawValue == text)
  }

  @Test(
    "Identifiers that could leave a folder or be misread are refused",
    arguments: [
      "", "../x", ".", "..", ".hidden", "-option", "a/b", "a\\b", "a\u{0}b", "a b", "ä", "a\n",
      String(repeating: "a", count: 201), String(repeating: "a", count: 300), "CACHEDIR.TAG",
    ])
  func badIdentifiers(text: String) {
    let error = #expect(throws: ContentError.self) { try ProductIdentifier(validating: text) }
    #expect(error?.code == .identifierInvalid)
    #expect(error?.message.utf8.contains(0) == false)
  }

  @Test(
    "Versions are ordered by number",
    arguments: [
      ("1.0.2", "1.0.3"), ("1.0.3", "1.1.2"), ("1.1.2", "2.0.0"), ("1.9", "1.10"), ("1.4", "1.4.1"),
      ("2.4", "2.31"), ("0", "0.0.1"), ("1.5", "2.0"),
    ])
  func order(older: String, newer: String) throws {
    #expect(try ContentVersion(validating: older) < ContentVersion(validating: newer))
    #expect(try !(ContentVersion(validating: newer) < ContentVersion(validating: older)))
    #expect(try ContentVersion(validating: older) != ContentVersion(validating: newer))
  }

  @Test("Missing numbers are zero", arguments: [("1.0", "1.0.0"), ("1", "1.0"), ("01.2", "1.2")])
  func equality(left: String, right: String) throws {
    #expect(try ContentVersion(validating: left) == ContentVersion(validating: right))
    #expect(
      try ContentVersion(validating: left).hashValue == ContentVersion(validating: right).hashValue)
    #expect(try ContentVersion(validating: left).rawValue == left)
  }

  @Test(
    "Texts that are not a series of integers are refused",
    arguments: [
      "", ".", "1.", ".1", "1..2", "1.a", "-1", "1.2-beta", " 1", "1 ", "١", "1/2",
      "1234567890123456789",
      Array(repeating: "123456789012345678", count: 12).joined(separator: "."),
      String(repeating: "1.", count: 16) + "1",
    ])
  func badVersions(text: String) {
    let error = #expect(throws: ContentError.self) { try ContentVersion(validating: text) }
    #expect(error?.code == .versionInvalid)
  }

  @Test("Accounts are equal if their bytes are equal, whatever Unicode says")
  func accounts() {
    let (composed, decomposed): (AccountID, AccountID) = ("jos\u{e9}", "jose\u{301}")
    #expect(composed.rawValue == decomposed.rawValue)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
    #expect(decomposed < composed && !(composed < decomposed))
    let payments = [composed, decomposed].map {
      Payment(productIdentifier: "a", applicationUsername: $0)
    }
    #expect(payments[0] != payments[1])
  }

  @Test("A digest is written as it was parsed")
  func digest() throws {
    let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    let digest = try #require(Digest(hex: hex))
    #expect(digest.hex == hex)
    #expect(Digest(bytes: digest.bytes) == digest)
    #expect(Digest(hex: hex.uppercased()) == digest)
    #expect(Digest(hex: String(hex.dropLast())) == nil)
    #expect(Digest(hex: "g" + hex.dropFirst()) == nil)
    #expect(Digest(bytes: [1, 2]) == nil)
  }

  @Test("An index with inconsistent numbers is refused")
  func index() throws {
    let digest = try Sample.digest()
    func index(_ length: Int64, _ block: Int, _ count: Int, size: Int64 = 1) -> PackageIndex {
      PackageIndex(
        packageLength: length, blockLength: block, blocks: Array(repeating: digest, count: count),
        files: [IndexedFile(path: "a", kind: .file, size: size, digest: digest)])
    }
    #expect(index(4097, 4096, 2).isConsistent)
    #expect(index(4097, 4096, 2).range(ofBlock: 1) == 4096..<4097)
    #expect(!index(4097, 4096, 1).isConsistent)
    #expect(!index(-1, 4096, 0).isConsistent)
    #expect(!index(10, 0, 1).isConsistent)
    #expect(!index(10, -4096, 1).isConsistent)
    #expect(!index(.max, 4096, 1).isConsistent)
    #expect(!index(10, 4096, 1, size: -1).isConsistent)
  }

  @Test("Every error has a group and tells whether a retry can help")
  func groups() {
    #expect(ContentError.Code.diskFull.group == .diskSpace)
    #expect(ContentError.Code.diskFull.isRetryable)
    #expect(ContentError.Code.signatureInvalid.group == .trust)
    #expect(!ContentError.Code.signatureInvalid.isRetryable)
    #expect(ContentError.Code(rawValue: 4711).group == .internal)
  }

  @Test("The date of a grant is rounded to milliseconds, also of a decoded one")
  func decodedGrant() throws {
    let json = """
      {"transactionIdentifier": "1", "date": 1.0004, "payment":
        {"productIdentifier": "book", "quantity": 1, "simulatesAskToBuy": false}}
      """
    let decoded = try JSONDecoder().decode(Grant.self, from: Data(json.utf8))
    let created = Grant(
      transactionIdentifier: "1", date: Date(timeIntervalSinceReferenceDate: 1.0004),
      payment: Payment(productIdentifier: "book"))
    #expect(created.date == Date(timeIntervalSinceReferenceDate: 1))
    #expect(decoded == created)
  }
}

@Suite("Prices")
struct PriceTests {
  @Test("Amounts are parsed from digits with a period before decimals")
  func amounts() {
    #expect(Price.amount("2.99") == Decimal(string: "2.99"))
    #expect(Price.amount("0") == 0)
    for text in ["", ".", "1.", ".5", "1,50", "-1", "1.2.3", "1e3", "free", "１"] {
      #expect(Price.amount(text) == nil, "\(text)")
    }
  }

  @Test("Literals are exact, and a fraction is shown with at least two decimals")
  func text() {
    // The literals pass through binary floating point.
    #expect(Price(4.99, currency: "EUR").description == "4.99 EUR")
    #expect(Price(0.07, currency: "EUR").amount == Decimal(string: "0.07"))
    #expect(Price(1.5, currency: "USD").description == "1.50 USD")
    #expect(Price(300, currency: "JPY").description == "300 JPY")
    #expect(Price(1.234, currency: "TND").description == "1.234 TND")
  }
}
