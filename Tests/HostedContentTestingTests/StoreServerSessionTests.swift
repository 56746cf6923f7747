import Foundation
import HostedContentTesting
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("A store server for tests", .waiting, .timeLimit(.hang))
struct StoreServerSessionTests {
  @Test("Servers are independent: each has its own address, ledger and keys")
  func separate() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let servers = [try StoreServerSession(session), try StoreServerSession(session)]
    let machine = try Machine(servers[0], delivers: false)
    _ = try await machine.queue.deliver(Payment("book"))
    #expect(try servers.map { try $0.purchases().count } == [1, 0])
    #expect(Set(servers.map(\.url)).count == 2)
    #expect(servers[0].receiptKey != servers[1].receiptKey)
    let service = try servers[1].service(token: servers[0].makeToken(scopes: [.read]))
    let error = await #expect(throws: ContentError.self) { try await service.allProducts() }
    #expect(error?.code == .accessDenied)
  }

  @Test("A product that is published while the server runs is sold at once, and announced")
  func published() async throws {
    let session = try StoreSession()
    let server = try StoreServerSession(session)
    let service = try server.service()
    #expect(try await service.allProducts().products.isEmpty)
    try session.publish("book")
    #expect(try await service.products(["book"]).products.count == 1)
    try session.publish("book", "1.1")
    let book = try await service.products(["book"]).products.first
    #expect(book?.contents.map(\.version) == ["1.1"])
    #expect(try server.events().map(\.kind) == [.published, .published])
  }

  @Test("After a reset, a server of the earlier store does not affect publications")
  func earlierStore() throws {
    let session = try StoreSession()
    let server = try StoreServerSession(session)
    let timestamp = session.folder.appending(path: "store/metadata/timestamp.json")
    try session.reset()
    try FileManager.default.removeItem(at: timestamp)
    try session.publish("book")
    #expect(try server.events().isEmpty)
  }

  @Test("Purchases have the date of the session's clock, also after it advances")
  func clock() async throws {
    let session = try StoreSession()
    try session.offer("coin", details: ProductDetails(type: .consumable))
    let server = try StoreServerSession(session)
    let machine = try Machine(server, delivers: false)
    var dates: [Date] = []
    for _ in 1...2 {
      dates.append(session.clock.now)
      _ = try await machine.queue.deliver(Payment("coin"))
      session.clock.advance(by: .seconds(31 * 86_400))
    }
    #expect(try server.purchases().map(\.date) == dates)
    #expect(try server.events().map(\.date) == dates)
  }

  @Test("A server that starts again has its address, its purchases and its keys")
  func restarted() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let server = try StoreServerSession(session)
    let url = server.url
    let token = try server.makeToken(scopes: [.read, .purchase])
    let order = PurchaseOrder(payment: Payment("book", account: "ada"), transaction: "order-1")
    let service = try server.service(token: token)
    func sold() async throws -> String {
      let outcome = try await service.purchase([order]).first
      guard case .purchased(let grant, let contents) = outcome else {
        return "\(String(describing: outcome))"
      }
      // Each answer has another signature.
      return "\(grant.transactionIdentifier) \(grant.date) \(grant.payment) \(contents)"
    }
    let outcome = try await sold()
    server.stop()
    server.stop()
    #expect(try server.purchases(account: "ada").map(\.state) == [.purchased])
    try server.refund("order-1")
    try server.reverse("order-1")
    try server.start()
    try server.start()
    #expect(server.url == url)
    #expect(try await sold() == outcome)
    #expect(try server.events().map(\.kind) == [.purchased, .refunded, .reversed])
    #expect(server.errors.isEmpty)
  }

  @Test("Several threads can start and stop a server at the same time")
  func concurrentStarts() async throws {
    let session = try StoreSession()
    let server = try StoreServerSession(session)
    server.stop()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 { group.addTask { try await onOwnThread { try server.start() } } }
      group.addTask { await onOwnThread { server.stop() } }
      try await group.waitForAll()
    }
    try server.start()
    #expect(try await server.service().allProducts().products.isEmpty)
  }

  @Test("A token can do what its scopes say, until it is revoked")
  func scopes() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let server = try StoreServerSession(session)
    let token = try server.makeToken(scopes: [.read])
    let service = try server.service(token: token)
    #expect(try await service.allProducts().products.count == 1)
    let order = PurchaseOrder(payment: Payment("book"), transaction: "order-1")
    let outcomes = try await service.purchase([order])
    guard case .failed(let error)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(error.code == .accessDenied)
    try server.revokeToken(token)
    await #expect(throws: ContentError.self) { try await service.allProducts() }
    #expect(throws: ContentError.self) { try server.revokeToken(token) }
    #expect(throws: ContentError.self) { try server.revokeToken("hct_other") }
    #expect(throws: ContentError.self) { try server.addKey(pem: "no key", scopes: [.read]) }
    let pem = try ReceiptSigningKey.generate(.ed25519).verificationKey.pem
    #expect(try server.addKey(pem: pem, scopes: [.purchase]).hasPrefix("key-"))
  }

  @Test("A purchase with an unused voucher is sold, and others fail")
  func vouchers() async throws {
    let session = try StoreSession()
    try session.offer("coins", details: ProductDetails(type: .consumable))
    let server = try StoreServerSession(session)
    try server.setDecision(.requireVoucher, about: "coins")
    try server.addVouchers(["SPRING"], for: "coins")
    let token = try server.makeToken(scopes: [.purchase])
    for (order, voucher) in [("1", "SPRING"), ("2", "SPRING"), ("3", "AUTUMN")] {
      let end = try Program.run(
        "/usr/bin/curl",
        [
          "--silent", "--noproxy", "*", "--header", "Authorization: Bearer \(token)",
          "--header", "Content-Type: application/json", "--header", "Idempotency-Key: \(order)",
          "--data",
          #"{"productIdentifier": "coins", "account": "ada", "voucher": "\#(voucher)"}"#,
          "\(server.url)v1/purchases",
        ])
      #expect(end.status == 0)
    }
    #expect(
      try server.purchases(account: "ada").map(\.state) == [.purchased, .failed, .failed])
    #expect(try server.purchases(account: "ada").map { $0.receipt != nil } == [true, false, false])
  }

  @Test("Requests that the operator cannot make are refused")
  func refused() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let server = try StoreServerSession(session)
    #expect(throws: ContentError.self) { try server.approve("unknown") }
    #expect(throws: ContentError.self) { try server.setDecision(.later, about: "book", count: 0) }
    let order = PurchaseOrder(payment: Payment("book"), transaction: "order-1")
    let outcomes = try await server.service().purchase([order])
    guard case .purchased? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(throws: ContentError.self) { try server.decline("order-1") }
    #expect(throws: ContentError.self) { try server.reverse("unknown") }
  }

  @Test("Requests are listed with their status")
  func requests() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let server = try StoreServerSession(session)
    let order = PurchaseOrder(payment: Payment("book"), transaction: "order-1")
    _ = try await server.service().purchase([order])
    await waitUntil { server.requests == ["POST /v1/purchases 201"] }
  }
}
