import ContentModel
import ContentTrust
import Dispatch
import FileIO
import FoundationEssentials
import Synchronization

/// The built-in seller: grants every product of a store's signed catalogue, and remembers it.
final class CatalogueStoreService: StoreService {
  private let catalogue: Catalogue
  private let grants: GrantsFile
  private let clock: EngineClock
  // The catalogue blocks while it reads; that must not hold up a thread of the task pool.
  private let serial = DispatchQueue(label: "hostedcontent.catalogue")

  init(
    _ configuration: PaymentQueue.Configuration, store: StoreAccess, libraryFolder: Directory
  ) throws {
    catalogue = Catalogue(
      of: store, trustedRoot: configuration.trustedRoot,
      trustFolder: try libraryFolder.createDirectory("trust"), now: configuration.clock.now)
    clock = configuration.clock
    grants = try Self.grantsFile(configuration, libraryFolder)
  }

  private static func grantsFile(
    _ configuration: PaymentQueue.Configuration, _ libraryFolder: Directory
  ) throws -> GrantsFile {
    guard let url = configuration.grantsFile else {
      return GrantsFile("grants.json", in: libraryFolder)
    }
    let parent = url.deletingLastPathComponent().path(percentEncoded: false)
    return GrantsFile(
      url.lastPathComponent,
      in: try configuration.fileSystem.directory(at: parent, creating: true))
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await onSerial { try self.catalogue.refresh().products(identifiers) }
  }

  func allProducts() async throws -> ProductsResponse {
    try await onSerial { try self.catalogue.refresh().products(nil) }
  }

  func purchase(_ payment: Payment, transaction: String) async throws -> PurchaseOutcome {
    try await onSerial {
      let product = try self.catalogue.refresh().product(payment.productIdentifier)
      if payment.simulatesAskToBuy { return .deferred }
      let grant = try self.grants.grant(transaction: transaction) {
        Grant(
          transactionIdentifier: transaction, date: self.clock.now().timeIntervalSince1970,
          payment: payment)
      }
      return .purchased(grant, contents: product.contents)
    }
  }

  func grants(account: String?) async throws -> [Grant] {
    try await onSerial { try self.grants.grants(account: account) }
  }

  private func onSerial<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      serial.async { continuation.resume(with: Result(catching: body)) }
    }
  }
}
