import HostedConcurrency
import Foundation
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// The statements of the guide "Writing code for Linux and Apple's systems" about Linux.
///
/// Change the guide if one of these fails.
@Suite("Linux differs from Apple's systems as the guide says")
struct LinuxDifferenceTests {
  @Test("Errors are converted to NSError, not matched")
  func errors() {
    let error: any Error = SKError(.paymentCancelled)
    // The type is a parameter, because otherwise the compiler knows the answer.
    func matches<Other>(_ type: Other.Type, _ error: any Error) -> Bool { error is Other }
    #expect(!matches(NSError.self, error) && matches(SKError.self, error))
    #expect((error as NSError).code == 2)
    #expect(!matches(SKError.self, NSError(domain: SKErrorDomain, code: 2)))
  }

  @Test("An enum has no value for a number without a name")
  func numbers() {
    #expect(SKPaymentTransactionState(rawValue: 99) == nil && SKDownloadState(rawValue: 99) == nil)
  }

  private class Base: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    let calls = Mutex<[String]>([])
    func paymentQueue(
      _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
    ) {}
    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {}
  }

  private final class Derived: Base, @unchecked Sendable {
    override func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
      calls.withLock { $0.append("restored") }
    }
    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {
      calls.withLock { $0.append("storefront") }
    }
  }

  @Test("An optional method is called if the class that adopts the protocol has it")
  func subclasses() {
    let derived = Derived()
    let observer: any SKPaymentTransactionObserver = derived
    observer.paymentQueueDidChangeStorefront(SKPaymentQueue())
    observer.paymentQueueRestoreCompletedTransactionsFinished(SKPaymentQueue())
    #expect(derived.calls.withLock { $0 } == ["restored"])
  }

  // Each program is compiled, which takes seconds.
  @Test(
    "The main queue runs on the main thread only under a run loop", .slow,
    arguments: [("dispatchMain()", "false"), ("RunLoop.main.run()", "true")])
  func mainThread(call: String, isMainThread: String) throws {
    let folder = try TemporaryFolder()
    let program = """
      import Foundation
      DispatchQueue.main.async {
        dispatchPrecondition(condition: .onQueue(.main))
        print(Thread.isMainThread)
        exit(0)
      }
      \(call)
      """
    try Data(program.utf8).write(to: URL(filePath: folder.path("main.swift")))
    let compiled = try Program.run(
      "/usr/bin/env", ["swiftc", "main.swift", "-o", "main"], folder: folder.path)
    try #require(compiled.status == 0, "\(compiled.output)")
    let end = try Program.run(folder.path("main"), [])
    #expect(end.output == "\(isMainThread)\n")
  }
}
