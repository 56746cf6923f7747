import Foundation
import HostedContent

/// Many concurrent tasks that wait for one content.
enum Delivers {
  /// Calls `deliver` `count` times concurrently for an installed product.
  ///
  /// "publish" must have filled the folder.
  static func run(_ path: String, _ count: Int) async throws {
    let queue = try PaymentQueue(
      ManyDownloads.configuration(path, library: "library-delivers"))
    let payment = Payment(productIdentifier: try ManyDownloads.product(0))
    let folders = try await queue.deliver(payment)
    let start = ContinuousClock.now
    let returned = try await withThrowingTaskGroup(of: [URL].self) { group in
      for _ in 0..<count { group.addTask { try await queue.deliver(payment) } }
      return try await group.reduce(into: 0) { $0 += $1 == folders ? 1 : 0 }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("\(count) calls of deliver at once, seconds: \(seconds.text(2))")
    print("\(count) calls of deliver at once, right folders: \(returned)")
    queue.close()
  }
}
