package import FoundationEssentials
import HostedDigests
import HostedModel
package import HostedFileIO
package import HostedContent
package import HostedShop

/// The folder with the data of a store server; only its owner can read it.
///
/// | name | content |
/// |---|---|
/// | `ledger.sqlite` | the ledger, unless it is in PostgreSQL |
/// | `ledger.lock` | locked by a running server |
/// | `receipt-key.pem`, `receipt-key.pub.pem` | the key that signs receipts, and its public half |
/// | `trust` | the store's trusted metadata |
/// | `catalog-version` | the last catalog that was reported to clients |
package struct StoreServerFolder: Sendable {
  package let directory: Directory

  private static let keyName = "receipt-key.pem"
  private static let publicKeyName = "receipt-key.pub.pem"
  private static let catalogName = "catalog-version"

  init(_ directory: Directory) { self.directory = directory }

  /// Opens the folder at `path`; creates it if it does not exist and `creating` is true.
  package init(_ path: String, creating: Bool) throws {
    do {
      directory = try FileSystem.real.directory(at: path)
    } catch let error as ContentError where error.code == .fileMissing && creating {
      directory = try Self.create(path)
    }
  }

  private static func create(_ path: String) throws -> Directory {
    let components = path.pathComponents()
    let start = path.hasPrefix("/") ? "/" : "./"
    let parent = try FileSystem.real.directory(
      at: start + components.dropLast().joined(separator: "/"), creating: true)
    let folder = try parent.createDirectory(components.last ?? "", mode: 0o700)
    try parent.sync()
    return folder
  }

  /// The SQLite ledger in the folder; the first write creates it.
  package func ledgerDatabase() throws -> SQLiteLedger { try SQLiteLedger(in: directory) }

  /// The folder of the store's trusted metadata.
  package func trustFolder() throws -> Directory {
    try directory.createDirectory("trust", mode: 0o700)
  }

  // MARK: The receipt key

  /// Returns the key that signs receipts of `ledger`; creates and adds it for a new ledger.
  ///
  /// Throws `keyUnusable` if the ledger has keys, but the file is missing or has none of them:
  /// buyers would be charged for receipts that their queues refuse.
  package func receiptKey(of ledger: Ledger, at date: Date) throws -> ReceiptSigningKey {
    let known = try ledger.receiptKeys()
    let path = "\(directory.path)/\(Self.keyName)"
    guard let bytes = try keyBytes() ?? (known.isEmpty ? createKey() : nil) else {
      throw ContentError(
        .keyUnusable, "The receipt key \(path) is missing, and the ledger has receipts of it",
        remedy: "Restore the file from a backup. If it is lost, create a key there, add its public "
          + "half with hostedcontent store-server receipt-key add, and list it in the store",
        subject: path)
    }
    let key = try ReceiptSigningKey(pem: bytes)
    let publicKey = Array(key.verificationKey.pem.utf8)
    let digest = try Digest(of: publicKey)
    if known.isEmpty {
      try ledger.addReceiptKey(digest, at: date)
    } else if !known.contains(where: { $0.digest == digest && $0.retired == nil }) {
      throw ContentError(
        .keyUnusable, "The receipt key \(path) is not one of the ledger's",
        remedy: "Restore the earlier file, or copy that of the ledger's other servers. To use this "
          + "key, add its public half with hostedcontent store-server receipt-key add, and list it "
          + "in the store", subject: path)
    }
    if try contents(of: Self.publicKeyName) != publicKey {
      try directory.replaceFile(Self.publicKeyName, with: publicKey)
    }
    return key
  }

  private func keyBytes() throws -> [UInt8]? {
    try directory.makePrivate(Self.keyName)
    return try contents(of: Self.keyName)
  }

  /// The content of a file; nil if it does not exist.
  private func contents(of name: String) throws -> [UInt8]? {
    try directory.status(of: name) == nil ? nil : directory.contents(of: name, limit: 16 << 10)
  }

  /// Creates the key, unless another process does at the same time; returns the key that stays.
  private func createKey() throws -> [UInt8] {
    let pem = try ReceiptSigningKey.generate(.es256).pem
    let temporary = ".\(Self.keyName)-\(randomIdentifier())"
    defer { try? directory.removeFile(temporary) }
    let file = try directory.createFile(temporary, mode: 0o600)
    try file.write(pem)
    try file.sync()
    do {
      try directory.renameWithoutReplacing(temporary, to: directory, Self.keyName)
    } catch {
      guard let other = try keyBytes() else { throw error }
      return other
    }
    try directory.sync()
    return pem
  }

  // MARK: The reported catalog

  /// The version of the catalog that clients know; nil before the first start.
  func catalogVersion() throws -> String? {
    try contents(of: Self.catalogName).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Not durable: after a power failure, clients get the event again.
  func setCatalogVersion(_ version: String) throws {
    try directory.replaceFile(
      Self.catalogName, with: Array(version.utf8), mode: 0o600, isDurable: false)
  }
}
