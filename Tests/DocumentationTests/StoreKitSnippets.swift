// swift-format-ignore-file
// The code of StoreKit's articles as it stands there, so that it is compiled.
import HostedContentTesting
import StoreKit

private func moving() throws {
try SKPaymentQueue.configure(
  SKHostConfiguration(
    store: "https://content.example.com/", library: URL(filePath: "/var/lib/app/content"),
    trustedRoot: URL(filePath: "/etc/app/1.root.json")))
}

private func copying(
  _ queue: SKPaymentQueue, _ downloads: [SKDownload], to documents: URL
) throws {
for download in downloads where download.state == .finished {
  if let folder = download.contentURL {
    try FileManager.default.copyItem(
      at: folder.appendingPathComponent("Contents"),
      to: documents.appendingPathComponent(download.contentIdentifier))
  }
  queue.finishTransaction(download.transaction)
}
}

private func testing(_ session: StoreSession) throws {
let queue = try SKPaymentQueue(
  configuration: SKHostConfiguration(queue: try session.configuration()))
  queue.close()
}
