import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// A product with two contents, a course and its audio.
@Suite("A product with several contents", .timeLimit(.hang))
struct SeveralContentsTests {
  private static let course = "com.example.course"
  private static let audio = "com.example.course.audio"

  private func published() throws -> StoreFixture {
    let fixture = try StoreFixture(publishing: Self.audio, "2.0", of: Self.course)
    try fixture.publish(Self.course, "1.0")
    return fixture
  }

  private func payment() throws -> Payment {
    Payment(productIdentifier: try ProductIdentifier(validating: Self.course))
  }

  /// Buys and installs all contents.
  private func buy(_ queue: PaymentQueue, _ observer: RecordingObserver) async throws {
    queue.add(observer)
    let id = queue.add(try payment())
    await observer.wait { $0.removed == [id] }
  }

  /// An observer that starts everything and finishes nothing.
  private func starting() -> RecordingObserver {
    RecordingObserver(onTransactions: { queue, transactions in
      queue.start(transactions.flatMap(\.downloads).filter { $0.state == .waiting })
    })
  }

  /// Moves the audio's archive away so that its download fails; the returned block restores it.
  private func hideAudio(_ fixture: StoreFixture) throws -> () throws -> Void {
    let folder = "\(fixture.storePath)/targets/\(Self.course)/2.0/\(Self.audio)"
    try FileManager.default.moveItem(atPath: folder, toPath: fixture.folder.path("away"))
    return { try FileManager.default.moveItem(atPath: fixture.folder.path("away"), toPath: folder) }
  }

  @Test("One payment has a download for each content, the product's own first")
  func wholeWay() async throws {
    let fixture = try published()
    let queue = try fixture.queue()
    let product = try #require(try await queue.products([Self.course]).products.first)
    #expect(product.contents.map(\.contentIdentifier.rawValue) == [Self.course, Self.audio])
    #expect(product.contents.map(\.version.rawValue) == ["1.0", "2.0"])
    #expect(product.downloadContentVersion?.rawValue == "1.0")
    #expect(product.downloadContentLengths == product.contents.map(\.package.length))
    let observer = RecordingObserver.delivering()
    try await buy(queue, observer)
    let downloads = try #require(observer.log.transaction(of: Self.course)).downloads
    #expect(downloads.map(\.contentIdentifier.rawValue) == [Self.course, Self.audio])
    #expect(downloads.map(\.contentVersion.rawValue) == ["1.0", "2.0"])
    #expect(downloads.allSatisfy { $0.state == .finished && $0.contentURL != nil })
    try fixture.expectInstalled(Self.course, "1.0")
    try fixture.expectInstalled(Self.audio, "2.0")
    #expect(try fixture.staged().isEmpty)
  }

  @Test("If one download fails and the other finishes, a new start completes the transaction")
  func oneFails() async throws {
    let fixture = try published()
    let putBack = try hideAudio(fixture)
    let queue = try fixture.queue()
    let observer = starting()
    queue.add(observer)
    let id = queue.add(try payment())
    await observer.wait {
      $0.download(of: Self.course)?.state == .finished
        && $0.download(of: Self.audio)?.state == .failed
    }
    let failed = try #require(observer.log.download(of: Self.audio))
    #expect(failed.error?.code == .storeMissing)
    #expect(queue.transactions.map(\.id) == [id])
    try fixture.expectInstalled(Self.course, "1.0")
    #expect(try await queue.installedVersion(of: ProductIdentifier(validating: Self.audio)) == nil)

    try putBack()
    queue.start([failed])
    await observer.wait { $0.download(of: Self.audio)?.state == .finished }
    #expect(queue.transactions.map(\.id) == [id])
    let whole = try #require(observer.log.download(of: Self.course))
    #expect(observer.log.downloadStates[whole.id] == [.waiting, .active, .finished])
    queue.finishTransaction(failed.transaction)
    await observer.wait { $0.removed == [id] }
    try fixture.expectInstalled(Self.audio, "2.0")
  }

  @Test("Finishing early cancels only the unfinished download, and installed content stays")
  func finishEarly() async throws {
    let fixture = try published()
    let queue = try fixture.queue()
    let observer = RecordingObserver(
      onTransactions: { queue, transactions in
        queue.start(
          transactions.flatMap(\.downloads).filter {
            $0.contentIdentifier.rawValue == Self.course && $0.state == .waiting
          })
      },
      onDownloads: { queue, downloads in
        for download in downloads where download.state == .finished {
          queue.finishTransaction(download.transaction)
        }
      })
    queue.add(observer)
    let id = queue.add(try payment())
    await observer.wait { $0.removed == [id] }
    #expect(observer.log.download(of: Self.course)?.state == .finished)
    #expect(observer.log.download(of: Self.audio)?.state == .cancelled)
    #expect(queue.transactions.isEmpty)
    queue.close()
    try fixture.expectInstalled(Self.course, "1.0")
    #expect(
      try fixture.reader().contents().map(\.content.contentIdentifier.rawValue) == [Self.course])
    #expect(try fixture.staged().isEmpty)
  }

  @Test("An update downloads only the outdated content")
  func updateOfOne() async throws {
    let fixture = try published()
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering()
    try await buy(queue, observer)
    #expect(try await queue.availableUpdates().isEmpty)
    try fixture.publish(Self.audio, "2.1", of: Self.course)
    let updates = try await queue.availableUpdates()
    #expect(updates.map(\.contentIdentifier.rawValue) == [Self.audio])
    #expect(updates.map(\.productIdentifier.rawValue) == [Self.course])
    #expect(updates.map(\.installed.rawValue) == ["2.0"])
    #expect(updates.map(\.offered.rawValue) == ["2.1"])
    let id = try await queue.add(try #require(updates.first))
    await observer.wait { $0.removed.contains(id) }
    let downloads = try #require(observer.log.transactions[id]).downloads
    #expect(downloads.map(\.contentIdentifier.rawValue) == [Self.audio])
    try fixture.expectInstalled(Self.audio, "2.1")
    try fixture.expectInstalled(Self.audio, "2.0", isCurrent: false)
    try fixture.expectInstalled(Self.course, "1.0")
    #expect(try await queue.availableUpdates().isEmpty)
  }

  @Test("A content that was never installed is not an update")
  func newContent() async throws {
    let fixture = try StoreFixture(publishing: Self.course, "1.0")
    let queue = try fixture.queue()
    try await buy(queue, .delivering())
    try fixture.publish(Self.audio, "1.0", of: Self.course)
    #expect(try await queue.availableUpdates().isEmpty)
  }

  @Test("A restore has new downloads of every content, even in another library")
  func restore() async throws {
    let fixture = try published()
    let grants = URL(filePath: fixture.folder.path("ledger.sqlite"))
    do {
      let queue = try fixture.queue {
        $0.library = URL(filePath: fixture.folder.path("first"))
        $0.ledgerFile = grants
      }
      try await buy(queue, .delivering())
      queue.close()
    }
    let queue = try fixture.queue { $0.ledgerFile = grants }
    let observer = RecordingObserver.delivering(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.removed.count == 1 }
    let transaction = try #require(observer.log.transaction(of: Self.course))
    #expect(transaction.transactionState == .restored)
    #expect(transaction.original != nil)
    #expect(
      transaction.downloads.map(\.contentIdentifier.rawValue) == [Self.course, Self.audio])
    try fixture.expectInstalled(Self.course, "1.0")
    try fixture.expectInstalled(Self.audio, "2.0")
  }

  @Test("A service that delivers another product's content does not overwrite it")
  func foreignContent() async throws {
    let fixture = try published()
    let queue = try fixture.queue()
    try await buy(queue, .delivering())
    queue.close()

    // A second store sells the audio's identifier as content of another product.
    let other = try StoreFixture(publishing: "com.example.intruder", "1.0")
    try other.publish(Self.audio, "9.0", of: "com.example.intruder")
    let location = try StoreLocation(other.storePath)
    let intruded = try fixture.queue {
      $0.store = location
      $0.service = OfferingService(store: StoreReader(location))
      $0.environment.usesCatalog = false
    }
    let observer = starting()
    intruded.add(observer)
    intruded.add(Payment(productIdentifier: "com.example.intruder"))
    await observer.wait {
      $0.download(of: Self.audio)?.state == .failed
        && $0.download(of: "com.example.intruder")?.state == .finished
    }
    let error = try #require(observer.log.download(of: Self.audio)?.error)
    #expect(error.code == .contentClaimed)
    #expect(error.message.contains(Self.course))
    intruded.close()
    try fixture.expectInstalled(Self.audio, "2.0")
    try fixture.expectInstalled("com.example.intruder", "1.0")
  }
}

/// A service that grants everything that a store offers.
private struct OfferingService: PartialService {
  let store: StoreReader

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await store.products(Set(identifiers.map(\.rawValue)))
  }

  func allProducts() async throws -> ProductsResponse {
    try await store.products()
  }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    let product = try await products([order.payment.productIdentifier]).products.first
    return .purchased(
      Grant(order.transaction.rawValue, order.payment), contents: product?.contents ?? [])
  }
}
