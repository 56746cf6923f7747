// swift-format-ignore-file
// The code about the store server in the article of HostedContentTesting, as it stands there.
import HostedContentTesting
import HostedTestTraits
import Testing

@Suite("The store server in the documentation", .timeLimit(.hang))
struct StoreServerSnippets {
  @Test("The code of the article buys, restores and refunds")
  func article() async throws {
let session = try StoreSession()
try session.publish("com.example.book")
let server = try StoreServerSession(session)
let desktop = try PaymentQueue(server.configuration(library: "desktop"))
let laptop = try PaymentQueue(server.configuration(library: "laptop"))
let folders = try await desktop.deliver(Payment(productIdentifier: "com.example.book"))
let restored = try await laptop.restore()
    #expect(folders.count == 1 && restored.count == 1)
    #expect(try server.purchases().map(\.state) == [.purchased])

try server.setDecision(.later, about: "com.example.book", count: 1)   // until approve or decline
session.clock.advance(by: .seconds(3600))
for purchase in try server.purchases() {
  try server.refund(purchase.transaction, reason: "Bought twice")     // observers are notified
}
server.stop()                                                         // purchases wait until start()
    #expect(try server.purchases().map(\.state) == [.refunded])
  }
}
