import StoreKit
import Testing

@Suite("Errors with any number are safe to use")
struct ErrorTests {
  private func error(_ number: Int, _ userInfo: [String: Any] = [:]) -> SKError {
    SKError(_nsError: NSError(domain: SKErrorDomain, code: number, userInfo: userInfo))
  }

  @Test("A number without a name is unknown, and is kept", arguments: [99, -1, Int.max])
  func unknownNumber(number: Int) {
    #expect(error(number).code == .unknown && error(number).errorCode == number)
    #expect((error(number) as NSError).code == number)
    #expect(error(5).code == .storeProductNotAvailable)
  }

  @Test("Errors can be members of sets and keys of dictionaries")
  func hashing() {
    #expect(error(2).hashValue == SKError(.paymentCancelled).hashValue)
    #expect(Set([error(2), error(2), error(99)]).count == 2)
    #expect([AnyHashable(error(99)): 1][AnyHashable(error(99))] == 1)
    // Equal errors have equal hashes; errors with different information may, too.
    #expect(Set([error(2, ["a": 1]), error(2, ["a": 2])]).count == 2)
  }
}
