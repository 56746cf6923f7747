import HostedModel
import HostedShop
import HostedTestTraits
import Testing

/// The table of requests in the design of the shop, a row each.
@Suite("What happens to a request for a purchase", .timeLimit(.hang))
struct SalePolicyTests {
  private static let request = PurchaseRequest(
    transaction: "t", account: "ann", productIdentifier: "book")
  private static let asking = PurchaseRequest(
    transaction: "t", account: "ann", productIdentifier: "book", asksToBuy: true)
  private static let product = Product(
    productIdentifier: "book", type: .nonConsumable, texts: [:], price: nil, contents: [])
  private static let record = PurchaseRecord(
    transaction: "t", account: "ann", product: "book", quantity: 1, state: .purchased, date: .sale,
    contents: [], isRestorable: true, sequence: 1, revision: 1)
  private static let failure = ContentError(.usage, "No", remedy: "None")

  /// Everything is known and would sell, except for what `change` says.
  private func step(
    _ request: PurchaseRequest = Self.request, _ change: (inout SalePolicy.Facts) -> Void
  ) -> String {
    var facts = SalePolicy.Facts()
    facts.product = .success(Self.product)
    change(&facts)
    switch SalePolicy.step(request, facts) {
    case .replay(let record): return "replay \(record.transaction)"
    case .lookUp: return "look up"
    case .repeats(let product): return "repeat \(product.productIdentifier)"
    case .wait(let product): return "wait \(product.productIdentifier)"
    case .decide(let product): return "decide \(product.productIdentifier)"
    case .refuse(.refused(.erased)): return "erased"
    case .refuse(.refused(.otherRequest)): return "other request"
    case .refuse(.refused): return "refused"
    case .refuse(.notReady): return "not ready"
    case .refuse(.busy): return "busy"
    case .refuse(.notOffered(let product)): return "not offered \(product)"
    case .refuse(.catalogFailed): return "catalog"
    case .refuse: return "other"
    }
  }

  @Test func `each fact has its answer`() {
    #expect(step { $0.obstacle = Self.failure } == "not ready")
    #expect(step { $0.recorded = .success(Self.record) } == "replay t")
    #expect(step { $0.recorded = .failure(.otherRequest(Self.record)) } == "other request")
    #expect(step { $0.recorded = .failure(.erased) } == "erased")
    #expect(step { $0.isBusy = true } == "busy")
    #expect(step { $0.product = nil } == "look up")
    #expect(step { $0.product = .failure(.notOffered("book")) } == "not offered book")
    #expect(step { $0.product = .failure(.catalogFailed(Self.failure)) } == "catalog")
    #expect(step { $0.owned = Self.record } == "repeat book")
    #expect(step(Self.asking) { _ in } == "wait book")
    // An owner needs no approval.
    #expect(step(Self.asking) { $0.owned = Self.record } == "repeat book")
    #expect(step { _ in } == "decide book")
  }

  /// Each later fact is added to the earlier ones, from the last row of the table to the first.
  @Test func `an earlier row wins over all later ones`() {
    let rows: [(String, (inout SalePolicy.Facts) -> Void)] = [
      ("repeat book", { $0.owned = Self.record }),
      ("not offered book", { $0.product = .failure(.notOffered("book")) }),
      ("busy", { $0.isBusy = true }),
      ("replay t", { $0.recorded = .success(Self.record) }),
      ("not ready", { $0.obstacle = Self.failure }),
    ]
    for count in 1...rows.count {
      let found = step(Self.asking) { facts in
        for (_, change) in rows.prefix(count) { change(&facts) }
      }
      #expect(found == rows[count - 1].0)
    }
  }
}
