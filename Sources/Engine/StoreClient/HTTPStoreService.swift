public import HostedCatalog
public import HostedSelling
import HostedConcurrency
public import HostedModel
import HostedFileIO
public import FoundationEssentials
import HostedShop

/// A store service behind the HTTP API of a store server.
///
/// Use it as `PaymentQueue.Configuration.service`, with the store's `trustedRoot`. The server
/// records purchases and decides about them; the store's signed catalog still determines what is
/// installed. Each attempt of a purchase has the identifier of its transaction, so that it is sold
/// once. While the server does not answer, purchases stay open and are repeated. One service may
/// serve several queues. May be used from any thread.
public final class HTTPStoreService: StoreService {
  package let connection: StoreServerConnection
  private let openOrders = OpenOrders()
  /// Where the events of a library without a cursor begin; nil for the time of its first request.
  private let firstCursor: String?

  static let batchSize = 64

  /// Creates a service for the server at `url`, with the token of one of its keys.
  ///
  /// With a JWT that has `sub`, payments without an account, and all other calls without one, are
  /// for that account. Otherwise they are for the own account of the token's key. An answer for
  /// another account is refused.
  ///
  /// Does not connect. The bearer token of `network` is not used. Throws `usage` for an invalid URL
  /// or token, and `insecureConnectionRefused` for plain HTTP to another machine, unless `network`
  /// allows it.
  public convenience init(
    url: URL, token: String, network: NetworkSettings = NetworkSettings()
  ) throws {
    try self.init(url: url, token: token, network: network, firstCursor: nil)
  }

  package init(url: URL, token: String, network: NetworkSettings, firstCursor: String?) throws {
    connection = try StoreServerConnection(url, token: token, network: network)
    self.firstCursor = firstCursor
  }

  /// Creates a service with the token in a file, which has only the token; blocks.
  ///
  /// Throws file errors, and `limitExceeded` if the file is longer than 4 KiB.
  public convenience init(
    url: URL, tokenFile: URL, network: NetworkSettings = NetworkSettings()
  ) throws {
    // Files with secrets are often links, such as in containers.
    let file = tokenFile.absoluteURL.resolvingSymlinksInPath()
    let parent = try file.deletingLastPathComponent().filePath(of: "token file")
    let bytes = try FileSystem.real.directory(at: parent).contents(
      of: file.lastPathComponent, limit: 4 << 10)
    let token = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    try self.init(url: url, token: token.joined(separator: " "), network: network)
  }

  /// Ends running requests; later ones throw `stopped`.
  ///
  /// Close the queues that use the service first: its purchases and events have no end until their
  /// tasks are cancelled.
  public func close() { connection.close() }

  // MARK: Products

  /// Looks up products.
  public func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await connection.products(identifiers)
  }

  /// Returns all offered products.
  public func allProducts() async throws -> ProductsResponse {
    try await connection.products(nil)
  }

  // MARK: Purchases

  /// 64.
  public var maximumBatchSize: Int { Self.batchSize }

  /// Buys products with one request, which is repeated for those without an outcome.
  ///
  /// Outcomes that are known before the others are also sent as events. Throws `CancellationError`
  /// if the task is cancelled. The products may be sold then: repeat the orders.
  public func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    openOrders.begin(orders)
    defer { openOrders.end(orders) }
    let outcomes = try await connection.purchase(orders) { [openOrders] order, outcome in
      openOrders.send(outcome, of: order)
    }
    openOrders.note(outcomes, of: orders)
    return outcomes
  }

  /// True.
  public var needsFinishes: Bool { true }

  /// Records that a purchase was finished.
  ///
  /// If the server does not know it, it has lost it, such as by a restore from a backup. Then the
  /// product is bought again with the same identifier. If it is not sold now, nothing is recorded.
  public func finished(_ order: PurchaseOrder, number: String) async throws {
    if try await !connection.finish(number) {
      let lost = PurchaseOrder(
        payment: order.payment, transaction: TransactionID(rawValue: number))
      switch try await connection.purchase([lost]).first {
      case .purchased: _ = try await connection.finish(number)
      // The token says nothing about the purchase, so the queue tries again later.
      case .failed(let error) where error.code == .accessDenied: throw error
      case .failed, .deferred, .undecided, nil: break
      }
    }
    openOrders.forget(order.transaction)
  }

  /// Returns the grants of the restorable purchases that `account` owns, oldest first.
  public func grants(account: AccountID?) async throws -> [Grant] {
    openOrders.note(account)
    var grants: [Grant] = []
    try await connection.readPurchases(.entitlements, of: account) { records in
      for record in records where record.state == .purchased {
        grants.append(connection.grant(of: record, requested: account))
      }
    }
    return grants.sorted { $0.date < $1.date }
  }

  /// Returns one purchase of each product that `account` owns, as the server's pages arrive.
  ///
  /// Contents are the current ones of the product. If the store does not offer it now, they are
  /// those that were sold.
  public func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    openOrders.note(account)
    return .finding { [connection] found in
      var seen: Set<ProductIdentifier> = []
      try await connection.readPurchases(.entitlements, of: account) { records in
        let originals = records.filter { $0.state == .purchased && $0.isRestorable }
          .sorted { $0.date < $1.date }.filter { seen.insert($0.product).inserted }
        guard !originals.isEmpty else { return }
        let products = try await connection.products(Set(originals.map(\.product))).products
        let contents = Dictionary(products.map { ($0.productIdentifier, $0.contents) }) { $1 }
        for original in originals {
          found(
            RestoredPurchase(
              original: connection.grant(of: original, requested: account),
              contents: contents[original.product] ?? original.offers))
        }
      }
    }
  }

  // MARK: Events

  /// Returns approvals, refunds, revocations and publications, requested with long polls.
  ///
  /// The stream continues after failures, with a back-off of up to a minute, until it is cancelled.
  /// If the server does not have the events after `cursor` anymore, because they are too old or its
  /// ledger was restored, the stream continues with new events. Before that, it repeats the open
  /// orders of this service and reports the revocations in the history of the accounts that this
  /// service or the library has used, up to 1,000.
  public func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    let (stream, sender) = AsyncStream.makeStream(of: StoreEventRecord.self)
    let start = cursor ?? firstCursor
    let task = Task { [connection, openOrders] in
      var requests = EventRequests(connection, openOrders, after: start, to: sender)
      await requests.run()
    }
    openOrders.streams.add(sender) { task.cancel() }
    return stream
  }

  /// Adds accounts of a library, in whose history revocations are looked up after lost events.
  package func note(accounts: Set<AccountID?>) {
    for account in accounts { openOrders.note(account) }
  }
}
