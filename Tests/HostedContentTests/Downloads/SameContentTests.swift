import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Several downloads of one content in one queue, of one version or of several.
@Suite("Downloads of the same content", .timeLimit(.hang))
struct SameContentTests {
  @Test(
    "A product that is bought twice at the same time is installed, and no download fails",
    arguments: ["/a/1.0", "/a/current"])
  func boughtTwice(suffix: String) async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let gate = Gate()
    let queue = try fixture.queue {
      $0.fileSystem = gate.fileSystem { operation, path in
        operation == .rename && path.hasSuffix(suffix)
      }
    }
    let observer = RecordingObserver.delivering(of: queue)
    let payment = Payment(productIdentifier: "a")
    let ids = [queue.add(payment), queue.add(payment)]
    await gate.waitUntilReached()
    // The observer has started both downloads then.
    await observer.wait { log in
      ids.allSatisfy { log.transactionStates[$0]?.last == .purchased }
    }
    #expect(!gate.hasGivenUp)
    gate.open()
    await observer.wait { log in
      log.removed.count == 2 || log.downloads.values.contains { $0.state == .failed }
    }
    #expect(Set(observer.log.removed) == Set(ids))
    #expect(observer.log.downloads.values.map(\.state) == [.finished, .finished])
    #expect(observer.log.downloads.values.allSatisfy { $0.error == nil })
    try fixture.expectInstalled("a", "1.0")
    queue.close()
    #expect(try fixture.staged().isEmpty)
  }

  @Test("An older version that is installed during an update never becomes current")
  func olderBesideUpdate() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver(onDownloads: { queue, downloads in
      for download in downloads where download.state == .finished {
        queue.finishTransaction(download.transaction)
      }
    })
    queue.add(observer)
    let payment = Payment(productIdentifier: "a")
    queue.add(payment)
    await observer.wait { $0.downloads.count == 1 }
    try fixture.publish("a", "1.1")
    queue.add(payment)
    await observer.wait { $0.downloads.count == 2 }
    queue.start(Array(observer.log.downloads.values))
    await observer.wait { log in
      log.removed.count == 2 || log.downloads.values.contains { $0.state == .failed }
    }
    #expect(observer.log.downloads.values.map(\.state) == [.finished, .finished])
    try fixture.expectInstalled("a", "1.1")
    try fixture.expectInstalled("a", "1.0", isCurrent: false)
  }
}
