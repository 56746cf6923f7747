import FoundationEssentials
import HostedContent

extension Arguments {
  /// The queue that `--library`, `--store`, `--root` and `--grants` describe.
  func queueConfiguration() throws -> PaymentQueue.Configuration {
    var configuration = PaymentQueue.Configuration(
      library: try library(), store: try storeLocation())
    configuration.trustedRoot = try trustedRoot()
    configuration.grantsFile = try text("--grants").map { URL(filePath: $0) }
    return configuration
  }
}
