import HostedModel
import ContentStore
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContentTool

/// The implementation of get and update, in this process, with misbehaving services and disks.
@Suite("A session of installs", .timeLimit(.hang))
struct InstallSessionTests {
  /// A store with some products, each with one version.
  private struct Shop {
    let folder: TemporaryFolder
    let products: [String]

    init(_ count: Int) throws {
      folder = try TemporaryFolder()
      products = (1...count).map { "com.example.p\($0)" }
      _ = try StoreFolder.create(at: folder.path("store"))
      try publish("1.0")
    }

    func publish(_ version: String) throws {
      let tool = try Tool()
      let packages = try products.map {
        try tool.folder.path(
          tool.makePackage($0, version, ["a.txt": Data("\($0) \(version)".utf8)]))
      }
      try StoreFolder.open(at: folder.path("store")).publish(packages)
    }

    func location() throws -> StoreLocation { try StoreLocation(folder.path("store")) }

    /// Runs one session.
    func install(
      _ texts: [String], into library: String = "lib", service: (any StoreService)? = nil,
      fileSystem: FileSystem = .real, seconds: Int = 500, closingSeconds: Int = 15,
      mayBuy: Bool = true, endProcess: @escaping @Sendable () -> Void = {}
    ) async throws -> HostedContentTool.ExitStatus {
      var configuration = PaymentQueue.Configuration(
        library: URL(filePath: folder.path(library)), store: try location())
      configuration.service = service
      configuration.fileSystem = fileSystem
      var console = Console()
      console.isQuiet = true
      let session = try InstallSession(
        configuration, account: nil, seconds: seconds, console,
        closingSeconds: closingSeconds, endProcess: endProcess)
      defer { session.close() }
      return try await session.install(
        texts.map { try ProductIdentifier(validating: $0) }, mayBuy: mayBuy)
    }

    func installed(in library: String = "lib") throws -> [String: String] {
      let entries = try LibraryReader(URL(filePath: folder.path(library))).contents()
      return Dictionary(
        entries.filter(\.isCurrent).map {
          ($0.content.contentIdentifier.rawValue, $0.content.version.rawValue)
        }, uniquingKeysWith: { first, _ in first })
    }

    func unfinished(in library: String = "lib") throws -> Int {
      try LibraryReader(URL(filePath: folder.path(library))).transactions().count
    }
  }

  /// A service that answers at once, as `answer` decides.
  private final class Service: StoreService {
    private let all: [Product]
    private let answer: @Sendable (Product, _ number: Int) throws -> PurchaseOutcome?
    private let state = Mutex((grants: [Grant](), purchases: 0, transactions: Set<TransactionID>()))

    init(
      _ shop: Shop, repeating count: Int = 1,
      answer: @escaping @Sendable (Product, Int) throws -> PurchaseOutcome? = { _, _ in nil }
    ) throws {
      let products = try StoreReader(shop.location()).products().products
      all = (0..<count).flatMap { _ in products }
      self.answer = answer
    }

    var purchases: Int { state.withLock { $0.purchases } }

    /// The number of purchases.
    ///
    /// Repeated requests count once.
    var transactions: Int { state.withLock { $0.transactions.count } }

    func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
      ProductsResponse(products: all.filter { identifiers.contains($0.productIdentifier) })
    }

    func allProducts() async throws -> ProductsResponse { ProductsResponse(products: all) }

    func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
      try orders.map(outcome(of:))
    }

    private func outcome(of order: PurchaseOrder) throws -> PurchaseOutcome {
      let product = try #require(
        all.first { $0.productIdentifier == order.payment.productIdentifier })
      let number = state.withLock {
        $0.purchases += 1
        $0.transactions.insert(order.transaction)
        return $0.purchases
      }
      if let outcome = try answer(product, number) { return outcome }
      let grant = Grant(
        transactionIdentifier: order.transaction.rawValue, date: Date(timeIntervalSince1970: 0),
        payment: order.payment)
      state.withLock { $0.grants.append(grant) }
      return .purchased(grant, contents: product.contents)
    }

    func grants(account: AccountID?) async throws -> [Grant] { state.withLock { $0.grants } }
  }

  @Test("Immediate answers to purchases and updates are never missed", .slow)
  func quickAnswers() async throws {
    let shop = try Shop(25)
    for round in 1...4 {
      let library = "lib\(round)"
      #expect(
        try await shop.install(shop.products, into: library, service: Service(shop)) == .done,
        "\(round)")
      #expect(try shop.installed(in: library).count == 25)
    }
    #expect(try await shop.install(shop.products) == .done)
    try shop.publish("1.1")
    #expect(try await shop.install(shop.products, mayBuy: false) == .done)
    #expect(Set(try shop.installed().values) == ["1.1"])
    #expect(try shop.unfinished() == 0)
  }

  @Test("A product that is requested or listed twice is bought once")
  func twice() async throws {
    let shop = try Shop(2)
    let service = try Service(shop, repeating: 3)
    #expect(try await shop.install(shop.products + shop.products, service: service) == .done)
    #expect(service.purchases == 2)
    #expect(try shop.installed().count == 2)
  }

  @Test("A deferred purchase ends the run with status 4, and stays open")
  func deferred() async throws {
    let shop = try Shop(2)
    let first = shop.products[0]
    let service = try Service(shop) { product, _ in
      product.productIdentifier.rawValue == first ? .deferred : nil
    }
    #expect(try await shop.install(shop.products, service: service) == .waiting)
    #expect(try shop.installed().keys.sorted() == [shop.products[1]])
    #expect(try shop.unfinished() == 1)
    // Still deferred: the run finds the open transaction and buys nothing else. Whether the launch
    // repeats the request before the run ends is a race.
    #expect(try await shop.install([first], service: service) == .waiting)
    #expect(service.transactions == 2)
  }

  @Test("A purchase that was approved or declined since the last run is delivered, or fails")
  func decided() async throws {
    let shop = try Shop(2)
    let (approved, declined) = (shop.products[0], shop.products[1])
    let deferring = try Service(shop) { _, _ in .deferred }
    #expect(try await shop.install(shop.products, service: deferring) == .waiting)
    // Each run asks again, and only its answer counts.
    #expect(try await shop.install(shop.products, service: deferring) == .waiting)
    #expect(deferring.transactions == 2)
    let deciding = try Service(shop) { product, _ in
      guard product.productIdentifier.rawValue == declined else { return nil }
      return .failed(ContentError(.purchaseDeclined, "A parent declined", remedy: "Ask"))
    }
    #expect(try await shop.install(shop.products, service: deciding) == .failed)
    #expect(deciding.transactions == 2)
    #expect(try shop.installed().keys.sorted() == [approved])
    #expect(try shop.unfinished() == 0)
  }

  @Test("A service that delivers nothing is an error, and is not asked forever")
  func sellsNothing() async throws {
    let shop = try Shop(1)
    let service = try Service(shop) { product, number in
      let payment = Payment(productIdentifier: product.productIdentifier)
      return .purchased(
        Grant(
          transactionIdentifier: "\(number)", date: Date(timeIntervalSince1970: 0), payment: payment
        ), contents: [])
    }
    #expect(try await shop.install(shop.products, service: service) != .done)
    #expect(service.purchases <= 2)
    #expect(try shop.unfinished() == 0)
  }

  @Test(
    "A refused purchase is an error, and one that a failure left undecided continues")
  func failedPurchases() async throws {
    let shop = try Shop(1)
    let refusing = try Service(shop) { _, _ in
      .failed(ContentError(.notEntitled, "Not for you", remedy: "Pay first"))
    }
    #expect(try await shop.install(shop.products, service: refusing) != .done)
    #expect(refusing.purchases == 1)
    let stumbling = try Service(shop) { _, number in
      if number == 1 { throw ContentError(.fileFailed, "A hiccup", remedy: "Try again") }
      return nil
    }
    #expect(try await shop.install(shop.products, service: stumbling) == .failed)
    #expect(try await shop.install(shop.products, service: stumbling) == .done)
    #expect(stumbling.purchases >= 2 && stumbling.transactions == 1)
    #expect(try shop.unfinished() == 0)
  }

  @Test("A service that never answers causes a timeout, and the next run continues", .slow)
  func silentService() async throws {
    let shop = try Shop(1)
    let service = try SilentService(shop.location())
    #expect(try await shop.install(shop.products, service: service, seconds: 1) != .done)
    #expect(try await shop.install(shop.products) == .done)
    #expect(try shop.unfinished() == 0)
  }

  private struct SilentService: StoreService {
    let location: StoreLocation

    init(_ location: StoreLocation) { self.location = location }

    func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
      try await StoreReader(location).products(Set(identifiers.map(\.rawValue)))
    }

    func allProducts() async throws -> ProductsResponse {
      try await StoreReader(location).products()
    }

    func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
      try await Task.sleep(for: .seconds(100_000))
      return []
    }

    func grants(account: AccountID?) async throws -> [Grant] { [] }
  }

  @Test("Work that hangs in a system call does not prevent the command from ending", .slow)
  func hangingDisk() async throws {
    let shop = try Shop(1)
    let disk = HangingDisk()
    // Instead of the end of the process, so that the queue is closed at last.
    let status = try await shop.install(
      shop.products, fileSystem: disk.fileSystem, seconds: 1, closingSeconds: 1
    ) {
      disk.release()
    }
    #expect(status == .failed)
    #expect(disk.hangs)
    #expect(try await shop.install(shop.products) == .done)
    #expect(try shop.unfinished() == 0)
  }

  @Test("An interrupt ends a command that already waits for its queue to close", .slow)
  func interruptedClose() async throws {
    let shop = try Shop(1)
    let disk = HangingDisk()
    var configuration = PaymentQueue.Configuration(
      library: URL(filePath: shop.folder.path("lib")), store: try shop.location())
    configuration.fileSystem = disk.fileSystem
    let queue = try PaymentQueue(configuration)
    let product = try ProductIdentifier(validating: shop.products[0])
    queue.start(try await queue.purchase(Payment(productIdentifier: product)).downloads)
    await waitUntil { disk.hangs }
    let closer = QueueCloser(queue, Console(), seconds: 1) { disk.release() }
    let close = ThreadCall { closer.close() }
    #expect(close.isWaiting())
    closer.begin()
    close.wait()
  }

  /// A disk whose writes of packages hang until it is released.
  private final class HangingDisk: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let state = Mutex((hangs: false, isReleased: false))

    var hangs: Bool { state.withLock { $0.hangs } }

    func release() {
      state.withLock { $0.isReleased = true }
      gate.signal()
    }

    var fileSystem: FileSystem {
      FileSystem { [self] operation, path in
        guard operation == .write, path.contains("/staging/") else { return }
        let isReleased = state.withLock { state in
          // The folders' tags are written when the library is opened.
          if !path.hasSuffix("CACHEDIR.TAG") { state.hangs = true }
          return state.isReleased || path.contains("CACHEDIR.TAG")
        }
        if isReleased { return }
        gate.wait()
        gate.signal()
      }
    }
  }

  @Test(
    "After a failure of the journal at any step of an install or update, a retry succeeds", .slow)
  func journalFailsOnce() async throws {
    let shop = try Shop(2)
    #expect(try await shop.install(shop.products, into: "warm-up") == .done)
    for isUpdate in [false, true] {
      if isUpdate { try shop.publish("1.1") }
      var number = 1
      var lastFired = true
      while lastFired {
        let library = "lib\(isUpdate)\(number)"
        if isUpdate {
          try FileManager.default.copyItem(
            atPath: shop.folder.path("warm-up"), toPath: shop.folder.path(library))
        }
        let fault = FaultPlan(failing: number) { operation, _ in operation == .journal }
        do {
          let healed =
            try await shop.install(
              shop.products, into: library, fileSystem: fault.fileSystem) == .done
          #expect(healed, "update \(isUpdate), journal step \(number)")
        } catch {
          // The library could not be opened, which is reported at once.
          #expect(fault.hasFired, "\(error)")
        }
        lastFired = fault.hasFired
        #expect(try await shop.install(shop.products, into: library) == .done)
        #expect(Set(try shop.installed(in: library).values) == [isUpdate ? "1.1" : "1.0"])
        #expect(try shop.unfinished(in: library) == 0)
        number += 1
      }
      #expect(number > 5, "the fault reached the session")
    }
  }

  @Test("Leftover files that cannot be removed do not fail purchases or updates")
  func leftovers() async throws {
    let shop = try Shop(2)
    let library = URL(filePath: shop.folder.path("lib"))
    try PaymentQueue(.init(library: library, store: shop.location())).close()
    let removed = "removed-\(String(repeating: "0", count: 64))-1"
    try FileManager.default.createDirectory(
      atPath: shop.folder.path("lib/staging/\(removed)/stubborn"), withIntermediateDirectories: true
    )
    let disk = FileSystem.failing(
      .remove, at: "/stubborn", as: ContentError(.notPermitted, "Not removed", remedy: "Wait"))
    #expect(try await shop.install(shop.products, into: "lib", fileSystem: disk) == .done)
    try shop.publish("1.1")
    #expect(try await shop.install(shop.products, into: "lib", fileSystem: disk) == .done)
    #expect(Set(try shop.installed(in: "lib").values) == ["1.1"])
    #expect(try shop.unfinished(in: "lib") == 0)
  }
}
