import HostedModel
import Foundation
import HostedShop
import HostedTestTraits
import Testing

@Suite("Messages about purchases", .waiting, .timeLimit(.hang))
struct PurchaseMessageTests {
  /// A record of a product has at most 1 MiB, which is enough for about 2,000 contents.
  @Test func `a purchase of a product with 2,000 contents can be read`() throws {
    let version = try ContentVersion(validating: "1.2")
    let contents = try (0..<2_000).map { number in
      ContentKey(try ProductIdentifier(validating: "lesson\(number)"), version: version)
    }
    let record = PurchaseRecord(
      transaction: "t", account: "ann", product: try ProductIdentifier(validating: "course"),
      quantity: 1, state: .purchased, date: .sale, contents: contents, isRestorable: true,
      sequence: 1, revision: 1)
    let read = try PurchaseRecord(json: JSONValue(parsing: record.json.encoded))
    #expect(read.contents == contents)
  }
}
