import FoundationEssentials
import HostedContent

extension Arguments {
  /// The queue for `--library`, `--store`, `--grants` and the network options.
  func queueConfiguration(_ console: Console) throws -> PaymentQueue.Configuration {
    var configuration = PaymentQueue.Configuration(
      library: try library(), store: try storeLocation())
    configuration.trustedRoot = try trustedRoot()
    configuration.trustsOnFirstUse = trustsOnFirstUse(console)
    configuration.mirrors = try mirrors()
    configuration.network = try network()
    configuration.grantsFile = try text("--grants").map { URL(filePath: $0) }
    return configuration
  }
}
