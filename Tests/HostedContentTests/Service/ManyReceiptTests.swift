import HostedModel
import Foundation
@testable import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Receipts of many grants", .timeLimit(.hang))
struct ManyReceiptTests {
  @Test(
    "All are verified, invalid ones are dropped and reported, and the order stays", .slow,
    arguments: [0, 1, 200, 201, 999])
  func order(count: Int) async throws {
    let (key, stranger) = (try ReceiptSigningKey.generate(), try ReceiptSigningKey.generate())
    let isInvalid = { (number: Int) in number % 100 == 99 }
    let grants = try (0..<count).map { number in
      try Self.grant("order-\(number)", signer: isInvalid(number) ? stranger : key)
    }
    let reported = Watched<[ContentError.Code]>([])
    let verifier = ReceiptVerifier(keys: [key.verificationKey])
    let gate = ServiceGate(
      service: RestoringService(grants),
      checkReceipt: { try verifier.check($0, ownAccount: nil, now: Date()) }, contents: nil
    ) { error in reported.change { $0.append(error.code) } }
    let valid = (0..<count).filter { !isInvalid($0) }
    #expect(try await gate.grants(account: nil) == valid.map { grants[$0] })
    #expect(reported.value == (0..<count).filter(isInvalid).map { _ in .receiptInvalid })
  }

  private static func grant(_ number: String, signer: ReceiptSigningKey) throws -> Grant {
    let date = Date(timeIntervalSince1970: 1_000_000)
    let receipt = try signer.sign(
      Receipt(
        transactionIdentifier: number, productIdentifier: "a", purchaseDate: date,
        signedDate: date))
    return Grant(
      transactionIdentifier: number, date: date, payment: Payment(productIdentifier: "a"),
      receipt: receipt)
  }
}
