import Dispatch
import Foundation
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// A payment is Sendable, so all threads may use it.
@Suite("A payment used by several threads", .timeLimit(.hang))
struct SharedPaymentTests {
  @Test("Threads that read a payment during a change see consistent values")
  func sharing() {
    let payment = SKMutablePayment()
    let rounds = SlowTests.areOn ? 20_000 : 2_000
    let prefix = "com.example.an-identifier-that-needs-memory-of-its-own."
    payment.productIdentifier = prefix
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for number in 0..<rounds {
        if thread == 0 {
          payment.productIdentifier = "\(prefix)\(number)"
          payment.requestData = Data("\(number)".utf8)
        } else {
          let copy = payment.copy() as? SKPayment
          guard copy?.productIdentifier.hasPrefix(prefix) == true else {
            Issue.record("read \(copy?.productIdentifier ?? "nothing")")
            return
          }
        }
      }
    }
  }
}
