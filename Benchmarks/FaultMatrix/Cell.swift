import HostedModel
import Foundation
import HostedContent
import HostedFileServer

/// One run: a fault, its frequency, and the initial state of the download.
struct Cell {
  enum Start: String, CaseIterable {
    case fresh, resumed
    case three = "three at once"
  }

  let row: Faults.Row
  let start: Start
  let isLasting: Bool

  /// The result of a run.
  struct Outcome {
    var seconds = 0.0
    /// Violated guarantees.
    var violations: [String] = []
    /// Bytes that were received but not used.
    var wasted: Int64 = 0
    /// The error after a permanent fault; nil for success with the right bytes.
    var error: ContentError?
  }

  private static let bound: Duration = .seconds(40)

  private var names: [String] { start == .three ? Fixture.names : [Fixture.names[0]] }

  func run(_ fixture: Fixture) async throws -> Outcome {
    let server = try fixture.server(isSecure: row.isOfTLS)
    let library = "library-\(UUID().uuidString)"
    let outcome = try await run(fixture, server, library)
    await performBlocking { server.stop() }
    fixture.remove(library)
    return outcome
  }

  private func run(_ fixture: Fixture, _ server: FileServer, _ library: String) async throws
    -> Outcome
  {
    var outcome = Outcome()
    var fetched: Int64 = 0
    if start == .resumed { fetched += try await fetchHalf(fixture, server, library) }
    try server.setFaults(FaultScript("\(row.line) \(isLasting ? "always" : "once")"))
    let begin = ContinuousClock.now
    let queue = try await fixture.queue(server, library: library)
    let error = await install(queue, &outcome)
    outcome.seconds = (ContinuousClock.now - begin).inSeconds
    outcome.error = error
    // A started download does not fetch the catalog again.
    let isHarmless = row.isHarmless || start == .resumed && row.line.hasPrefix("/metadata/")
    let mustSucceed = !isLasting && !row.isFinal || isHarmless
    if mustSucceed, let error { outcome.violations.append("failed: \(error)") }
    if error != nil {
      try server.setFaults(.none)
      if let error = await install(queue, &outcome) {
        outcome.violations.append("failed once the fault was gone: \(error)")
      }
    }
    for name in names where !fixture.isInstalled(name, library: library) {
      outcome.violations.append("\(name) is missing or has wrong bytes")
    }
    fetched += queue.statistics.bytesFetched
    outcome.wasted = queue.statistics.transfers.bytesWasted
    try server.setFaults(.none)
    let length = try await length(queue)
    // Archive headers that the index replaces are not fetched.
    if fetched > length { outcome.violations.append("\(fetched - length) bytes fetched again") }
    await queue.shutDown()
    return outcome
  }

  /// Installs everything; returns nil for success, `timedOut` if it hangs.
  private func install(_ queue: PaymentQueue, _ outcome: inout Outcome) async -> ContentError? {
    let (ends, end) = AsyncStream.makeStream(of: Result<Void, any Error>?.self)
    // A task group would wait for a call that hangs.
    let tasks: [Task<Void, Never>] = [
      Task { [names] in
        do {
          try await Self.deliver(names, queue)
          end.yield(.success(()))
        } catch {
          end.yield(.failure(error))
        }
      },
      Task {
        try? await Task.sleep(for: Self.bound)
        end.yield(nil)
      },
    ]
    defer { tasks.forEach { $0.cancel() } }
    switch await ends.first(where: { _ in true }) ?? nil {
    case .success: return nil
    case .failure(let error as ContentError): return error
    case .failure(let error):
      outcome.violations.append("no typed error: \(error)")
    case nil: outcome.violations.append("hangs")
    }
    return ContentError(.timedOut, "see the violations", remedy: "")
  }

  /// Installs missing products, continuing open transactions of an earlier try.
  private static func deliver(_ names: [String], _ queue: PaymentQueue) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in names {
        group.addTask {
          let product = try ProductIdentifier(validating: name)
          let open = queue.transactions.first {
            $0.payment.productIdentifier == product && $0.transactionState == .purchased
          }
          let transaction: PaymentTransaction
          if let open {
            transaction = open
          } else {
            transaction = try await queue.purchase(Payment(productIdentifier: product))
          }
          _ = try await queue.install(transaction)
          try await queue.finish(transaction)
        }
      }
      var failure: (any Error)?
      while let result = await group.nextResult() {
        if case .failure(let error) = result { failure = failure ?? error }
      }
      if let failure { throw failure }
    }
  }

  /// Fetches a part of the first package and closes the queue; returns the number of bytes.
  private func fetchHalf(_ fixture: Fixture, _ server: FileServer, _ library: String) async throws
    -> Int64
  {
    try server.setFaults(FaultScript("/targets/*.pkg rate 6MB/s"))
    let queue = try await fixture.queue(server, library: library)
    let transaction = try await queue.purchase(
      Payment(productIdentifier: try ProductIdentifier(validating: Fixture.names[0])))
    let reports = queue.reports()
    queue.start(transaction.downloads)
    for await report in reports {
      guard case .downloads(let updates) = report else { continue }
      if updates.contains(where: { $0.progress > 0.2 }) { break }
    }
    await queue.shutDown()
    return queue.statistics.bytesFetched
  }

  /// The total size of the archives.
  private func length(_ queue: PaymentQueue) async throws -> Int64 {
    let products = try await queue.products(Set(names)).products
    return products.flatMap(\.contents).reduce(0) { $0 + $1.package.length }
  }
}
