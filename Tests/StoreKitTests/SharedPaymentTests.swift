import Dispatch
import Foundation
import StoreKit
import Testing

/// A payment is Sendable, so any thread may use it at any time.
@Suite("A payment that several threads use", .timeLimit(.minutes(10)))
struct SharedPaymentTests {
  @Test("Threads that read a payment while another changes it see whole values")
  func sharing() {
    let payment = SKMutablePayment()
    let prefix = "com.example.an-identifier-that-needs-memory-of-its-own."
    payment.productIdentifier = prefix
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for number in 0..<20_000 {
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
