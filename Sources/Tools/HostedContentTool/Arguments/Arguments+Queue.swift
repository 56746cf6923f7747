import FoundationEssentials
import HostedContent

extension Arguments {
  /// The queue for `--library`, `--store`, `--ledger`, `--service` and the network options.
  func queueConfiguration(_ console: Console) throws -> PaymentQueue.Configuration {
    var configuration = PaymentQueue.Configuration(
      library: try library(), store: try storeLocation())
    configuration.trustedRoot = try trustedRoot()
    configuration.trustsOnFirstUse = trustsOnFirstUse(console)
    configuration.mirrors = try mirrors()
    configuration.network = try network()
    configuration.ledgerFile = try text("--ledger").map { URL(filePath: $0) }
    configuration.service = try storeService(configuration.network)
    return configuration
  }

  /// The store server of `--service`; nil for the built-in store service.
  private func storeService(_ network: NetworkSettings) throws -> HTTPStoreService? {
    guard let address = try text("--service") else {
      guard !has("--service-token-file") else {
        throw wrong("--service-token-file needs --service")
      }
      return nil
    }
    guard !has("--ledger") else {
      throw wrong("--ledger is for the built-in store service: --service has its own ledger")
    }
    let service = try service(address)
    var network = network
    // These are for the store.
    (network.bearerToken, network.headers) = (nil, [:])
    return try HTTPStoreService(url: service.url, token: service.token, network: network)
  }
}
