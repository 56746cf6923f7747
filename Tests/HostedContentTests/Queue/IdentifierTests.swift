import FoundationEssentials
import HostedModel
import Glibc
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Identifiers of transactions", .timeLimit(.hang))
struct IdentifierTests {
  @Test(.enabled(if: SlowTests.allowExitTests))
  func `they differ even if the process cannot open another file`() async {
    await #expect(processExitsWith: .success) {
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      var limit = rlimit()
      getrlimit(resource, &limit)
      let usual = limit.rlim_cur
      limit.rlim_cur = 0
      setrlimit(resource, &limit)
      let make = Environment().newIdentifier
      let identifiers = (0..<100).map { _ in make() }
      // LeakSanitizer, at the end of the process, waits forever if it cannot open a file.
      limit.rlim_cur = usual
      setrlimit(resource, &limit)
      #expect(Set(identifiers).count == 100, "\(identifiers.prefix(2))")
    }
  }

  @Test func `they are random UUIDs in lower case`() {
    let make = Environment().newIdentifier
    let identifiers = (0..<100).map { _ in make() }
    for identifier in identifiers {
      #expect(
        identifier.wholeMatch(
          of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
    #expect(Set(identifiers).count == 100)
  }

  @Test(arguments: ["open", "finished"])
  func `a payment with a known identifier is refused with an error that names it`(first: String)
    async throws
  {
    let fixture = try StoreFixture()
    let payment = Payment(productIdentifier: "a")
    let service = AnsweringService { .purchased(Grant($0.rawValue, payment), contents: []) }
    let queue = try fixture.queue {
      $0.service = service
      $0.environment.newIdentifier = { "same" }
    }
    let observer = first == "open" ? RecordingObserver() : .delivering()
    queue.add(observer)
    queue.add(payment)
    await observer.wait { log in
      first == "open" ? log.transactionStates["same"]?.last == .purchased : !log.removed.isEmpty
    }
    queue.add(payment)
    // Wait for the error, or for the report of a queue that accepts the identifier.
    await observer.wait { !$0.errors.isEmpty || $0.transactionStates["same"]?.count ?? 0 > 2 }
    #expect(observer.log.errors.first?.code == .transactionExists)
    #expect(observer.log.errors.first?.subject == "same")
    #expect(service.asked == ["same"])
    if first == "finished" {
      let error = await #expect(throws: ContentError.self) { try await queue.purchase(payment) }
      #expect(error?.code == .transactionExists)
    }
    queue.close()
  }
}
