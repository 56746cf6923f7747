import HostedModel
package import HostedFileIO

/// The lock of a server on the folder of its ledger, held until it is released.
package final class ServerLock: Sendable {
  private let file: File

  /// Takes the lock; throws `storeLocked` while another server holds it.
  package init(in folder: Directory) throws {
    let file = try folder.privateFile("ledger.lock")
    guard try file.tryLock() else {
      throw ContentError(
        .storeLocked, "Another store server uses the ledger in \(folder.path)",
        remedy: "Stop that server, or use another folder", subject: folder.path)
    }
    self.file = file
  }

  deinit { file.unlock() }
}
