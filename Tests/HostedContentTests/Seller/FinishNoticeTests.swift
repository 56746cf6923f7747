import ContentModel
import TestSupport
import Testing

@testable import HostedContent

/// The notices with which a queue tells its service about finished purchases.
@Suite("Notices of finished purchases", .timeLimit(.minutes(10)))
struct FinishNoticeTests {
  @Test func `a purchase that finishes while another is acknowledged is sent once`() async {
    let service = FinishLog()
    let seller = Seller(service, Environment(), timeout: 60)
    let transactions = (0..<100).map { "t\($0)" }
    let acknowledged = Watched<[String]>([])
    seller.onAnswer = { [weak seller] event in
      guard case .finishAcknowledged(let transaction) = event else { return }
      let count = acknowledged.change { list in
        list.append(transaction)
        return list.count
      }
      if count < transactions.count { seller?.notifyFinished(Self.notice(transactions[count])) }
    }
    seller.notifyFinished(Self.notice(transactions[0]))
    await acknowledged.wait { $0.count >= transactions.count }
    #expect(service.finished.value == transactions)
    seller.stop()
  }

  private static func notice(_ transaction: String) -> FinishNotice {
    FinishNotice(
      transaction: transaction, number: transaction, payment: Payment(productIdentifier: "a"))
  }
}

/// A service that records what it is told.
private struct FinishLog: StoreService {
  let finished = Watched<[String]>([])

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(products: [])
  }

  func allProducts() async throws -> ProductsResponse { ProductsResponse(products: []) }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    .deferred
  }

  func grants(account: String?) async throws -> [Grant] { [] }

  var needsFinishes: Bool { true }

  func finished(_ transaction: TransactionID, number: String) async throws {
    finished.change { $0.append(transaction.rawValue) }
  }
}
