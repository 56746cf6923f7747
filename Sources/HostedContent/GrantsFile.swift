import ContentModel
import FileIO
import FoundationEssentials

/// What accounts were granted: a JSON file that several libraries and processes may share.
///
/// Changed under a lock and replaced durably, so that a grant is never lost or given twice. May be
/// used from any thread.
struct GrantsFile: Sendable {
  private let folder: Directory
  private let name: String

  /// A file may not be longer, in bytes.
  private static let maximumLength: Int64 = 64 << 20

  private struct Contents: Codable {
    var format = 1
    var grants: [Grant] = []
  }

  /// The file `name` in `folder`; it need not exist.
  init(_ name: String, in folder: Directory) {
    self.folder = folder
    self.name = name
  }

  /// All grants of `account`, oldest first.
  func grants(account: String?) throws -> [Grant] {
    try read().grants.filter { $0.payment.applicationUsername == account }
  }

  /// Remembers what `make` returns, unless `transaction` was granted before: then that.
  func grant(transaction: String, make: () -> Grant) throws -> Grant {
    let lock = try folder.updatedFile("\(name).lock", mode: 0o600)
    try lock.lock()
    var contents = try read()
    if let known = contents.grants.first(where: { $0.transactionIdentifier == transaction }) {
      return known
    }
    let grant = make()
    contents.grants.append(grant)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    try folder.replaceFile(name, with: Array(encoder.encode(contents)), mode: 0o600)
    return grant
  }

  private func read() throws -> Contents {
    guard try folder.status(of: name) != nil else { return Contents() }
    let bytes = try folder.contents(of: name, limit: Self.maximumLength)
    do {
      return try JSONDecoder().decode(Contents.self, from: Data(bytes))
    } catch {
      throw ContentError(
        .storeDamaged, "The grants file \(folder.path(of: name)) cannot be read",
        remedy: "Bring back a copy of it, or move it away to begin anew", subject: name,
        cause: "\(error)")
    }
  }
}
