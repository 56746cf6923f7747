import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// A ledger that several libraries share, used through their queues.
@Suite("Grants that libraries share", .timeLimit(.hang))
struct SharedGrantsTests {
  private let fixture: StoreFixture

  init() throws {
    fixture = try StoreFixture()
    for product in ["a", "b"] { try fixture.publish(product, "1.0") }
  }

  private var ledgerPath: String { fixture.folder.path("shared/grants") }

  /// Creates a queue of the library `name` whose transactions all have the same identifier.
  private func queue(_ name: String) throws -> PaymentQueue {
    try fixture.queue {
      $0.library = URL(filePath: fixture.folder.path(name))
      $0.ledgerFile = URL(filePath: ledgerPath)
      $0.environment.newIdentifier = { "the-only-identifier" }
    }
  }

  private func payment(_ product: String, quantity: Int = 1, account: AccountID? = nil) throws
    -> Payment
  {
    Payment(
      productIdentifier: try ProductIdentifier(validating: product), quantity: quantity,
      applicationUsername: account)
  }

  @Test func `an identifier with a grant of another payment is an error`() async throws {
    let first = try queue("first")
    defer { first.close() }
    _ = try await first.purchase(payment("a"))
    let others = try [payment("b"), payment("a", quantity: 2), payment("a", account: "ann")]
    for (number, other) in others.enumerated() {
      let queue = try queue("other-\(number)")
      defer { queue.close() }
      let error = await #expect(throws: ContentError.self) { try await queue.purchase(other) }
      #expect(error?.code == .transactionExists)
    }
    let grants = try await first.grants()
    #expect(try grants.map(\.payment) == [payment("a")])
  }

  @Test func `the same payment gets the old grant again`() async throws {
    let queues = try ["first", "second"].map(queue)
    defer { queues.forEach { $0.close() } }
    for queue in queues { _ = try await queue.purchase(payment("a")) }
    let grants = try await queues[0].grants()
    #expect(grants.count == 1)
    #expect(try await queues[1].grants() == grants)
  }

  @Test(arguments: [
    "bread, milk, eggs", #"{"bread":1}"#, String(repeating: "bread ", count: 900),
  ])
  func `a file that is not a grants database is refused and not changed`(text: String)
    async throws
  {
    try FileManager.default.createDirectory(
      atPath: fixture.folder.path("shared"), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: ledgerPath))
    let queue = try queue("library")
    defer { queue.close() }
    let observer = RecordingObserver(of: queue)
    queue.add(try payment("a"))
    await observer.wait { !$0.errors.isEmpty }
    let undecided = try #require(observer.log.errors.first)
    #expect(undecided.code == .serviceFailed)
    #expect(undecided.cause?.contains("backup") == true, "\(undecided)")
    let listed = await #expect(throws: ContentError.self) { try await queue.grants() }
    #expect(listed?.code == .ledgerFailed)
    #expect(try String(contentsOfFile: ledgerPath, encoding: .utf8) == text)
  }
}
