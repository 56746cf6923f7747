import ContentModel
import FileIO
import Foundation
import HostedContent
import Concurrency
import TestSupport
import Testing

/// Several downloads of one content in one queue, of one version or of several.
@Suite("Downloads of the same content", .timeLimit(.minutes(10)))
struct SameContentTests {
  /// Makes the first rename to a path with `suffix` wait for a second one.
  private final class Meeting: Sendable {
    private let suffix: String
    private let count = Mutex(0)

    init(at suffix: String) { self.suffix = suffix }

    var arrivals: Int { count.withLock { $0 } }

    var fileSystem: FileSystem {
      FileSystem { [self] operation, path in
        guard operation == .rename, path.hasSuffix(suffix) else { return }
        count.withLock { $0 += 1 }
        for _ in 0..<20 where arrivals == 1 { usleep(10_000) }
      }
    }
  }

  @Test(
    "A product that is bought twice at the same time is installed, and no download fails",
    arguments: ["/a/1.0", "/a/current"])
  func boughtTwice(suffix: String) async throws {
    let fixture = try StoreFixture()
    try fixture.publish("a", "1.0")
    let meeting = Meeting(at: suffix)
    let queue = try fixture.queue { $0.fileSystem = meeting.fileSystem }
    let observer = RecordingObserver.delivering()
    queue.add(observer)
    let payment = Payment(productIdentifier: ProductIdentifier("a"))
    let ids = [queue.add(payment), queue.add(payment)]
    await observer.wait { log in
      log.removed.count == 2 || log.downloads.values.contains { $0.state == .failed }
    }
    #expect(Set(observer.log.removed) == Set(ids))
    #expect(observer.log.downloads.values.map(\.state) == [.finished, .finished])
    #expect(observer.log.downloads.values.allSatisfy { $0.error == nil })
    #expect(meeting.arrivals > 0)
    try fixture.expectInstalled("a", "1.0")
    queue.close()
    #expect(try fixture.staged().isEmpty)
  }

  @Test("An older version that is installed during an update never becomes current")
  func olderBesideUpdate() async throws {
    let fixture = try StoreFixture()
    try fixture.publish("a", "1.0")
    let meeting = Meeting(at: "/a/current")
    let queue = try fixture.queue { $0.fileSystem = meeting.fileSystem }
    let observer = RecordingObserver(onDownloads: { queue, downloads in
      for download in downloads where download.state == .finished {
        queue.finishTransaction(download.transaction)
      }
    })
    queue.add(observer)
    let payment = Payment(productIdentifier: ProductIdentifier("a"))
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
    #expect(meeting.arrivals > 0)
    try fixture.expectInstalled("a", "1.1")
    try fixture.expectInstalled("a", "1.0", isCurrent: false)
  }
}
