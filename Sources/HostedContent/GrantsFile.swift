import ContentModel
import FileIO
import FoundationEssentials
import Locks

/// What accounts were granted: JSON lines in a file that several libraries and processes may share.
///
/// A grant is appended under a lock and durable before it counts, so that none is lost or given
/// twice. Of what a crash tore off at the end, nobody has heard. May be used from any thread, blocks.
final class GrantsFile: Sendable {
  private let folder: Directory
  private let name: String
  private let known = Mutex(Known())

  /// A file may not be longer, in bytes.
  private static let maximumLength: Int64 = 64 << 20
  private static let newline = UInt8(ascii: "\n")

  /// What was read of the file; it only grows, so that a look reads what is new.
  private struct Known {
    var inode: UInt64?
    /// Where the last whole line ends, in bytes.
    var length: Int64 = 0
    var grants: [Grant] = []
    var places: [String: Int] = [:]
    /// Whether the file is one JSON document, as the first format was; it has no lines then.
    var isDocument = false

    mutating func append(_ grant: Grant) {
      places[grant.transactionIdentifier] = grants.count
      grants.append(grant)
    }
  }

  /// The file as its first format was, written anew with each grant.
  private struct Document: Decodable {
    let format: Int
    let grants: [Grant]
  }

  /// The file `name` in `folder`; it need not exist, and loses the rights of other users if it does.
  init(_ name: String, in folder: Directory) throws {
    self.folder = folder
    self.name = name
    for file in [name, lockName] { try folder.makePrivate(file) }
  }

  /// The file that a process locks while it adds grants.
  private var lockName: String { "\(name).lock" }

  /// All grants of `account`, oldest first.
  func grants(account: String?) throws -> [Grant] {
    try known.withLock { known in
      if try folder.status(of: name) == nil {
        known = Known()
      } else {
        try catchUp(&known, with: folder.file(name))
      }
      return known.grants.filter { $0.payment.applicationUsername == account }
    }
  }

  /// Remembers `grants`, all at once; of a transaction that was granted before, that grant is returned.
  func grant(_ grants: [Grant]) throws -> [Grant] {
    guard !grants.isEmpty else { return [] }
    let lock = try folder.privateFile(lockName)
    try lock.lock()
    defer { lock.unlock() }
    return try known.withLock { known in
      var file = try folder.privateFile(name)
      try catchUp(&known, with: file)
      if known.isDocument {
        try folder.replaceFile(name, with: Grant.lines(known.grants), mode: 0o600)
        file = try folder.privateFile(name)
        try catchUp(&known, with: file)
      }
      var seen: Set<String> = []
      let fresh = grants.filter {
        known.places[$0.transactionIdentifier] == nil
          && seen.insert($0.transactionIdentifier).inserted
      }
      try append(fresh, to: file, &known)
      return grants.map { grant in
        known.places[grant.transactionIdentifier].map { known.grants[$0] } ?? grant
      }
    }
  }

  private func append(_ grants: [Grant], to file: borrowing File, _ known: inout Known) throws {
    guard !grants.isEmpty else { return }
    let lines = try Grant.lines(grants)
    try file.truncate(to: known.length)
    do {
      try lines.withUnsafeBytes { try file.write($0, at: known.length) }
      try file.sync()
      if known.length == 0 { try folder.sync() }
    } catch {
      // Nobody hears of them, so nobody must find them either.
      try? file.truncate(to: known.length)
      throw error
    }
    known.length += Int64(lines.count)
    for grant in grants { known.append(grant) }
  }

  /// Reads the lines that `known` does not have; all of them in another file than it was.
  private func catchUp(_ known: inout Known, with file: borrowing File) throws {
    let status = try file.status()
    if status.identity.inode != known.inode || status.size < known.length { known = Known() }
    known.inode = status.identity.inode
    guard status.size <= Self.maximumLength else { throw unreadable("it is too long") }
    guard status.size > known.length else { return }
    var bytes = [UInt8](repeating: 0, count: Int(status.size - known.length))
    let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: known.length) }
    if known.length == 0, let document = try? Self.document(bytes[..<count]) {
      known = Known(inode: known.inode, isDocument: true)
      document.grants.forEach { known.append($0) }
      return
    }
    let end = bytes[..<count].lastIndex(of: Self.newline)
    let tail = bytes[..<count].suffix(from: end.map { $0 + 1 } ?? 0)
    guard Self.isTorn(tail) else { throw unreadable("it ends with what is not a grant") }
    guard let end else { return }
    var fresh = known
    do {
      for grant in try Grant.read(lines: bytes[...end]) { fresh.append(grant) }
    } catch {
      throw unreadable("\(error)")
    }
    fresh.length += Int64(end + 1)
    known = fresh
  }

  /// Whether `tail` may be what a crash left of a line, over which the next grant is written.
  private static func isTorn(_ tail: ArraySlice<UInt8>) -> Bool {
    let start = Array(#"{"date":"#.utf8)
    return tail.starts(with: start) || start.starts(with: tail) || tail.first == 0
  }

  private static func document(_ bytes: ArraySlice<UInt8>) throws -> Document? {
    // A line is an object, too, but has no format.
    let document = try JSONDecoder().decode(Document.self, from: Data(bytes))
    return document.format == 1 ? document : nil
  }

  private func unreadable(_ cause: String) -> ContentError {
    ContentError(
      .storeDamaged, "The grants file \(folder.path(of: name)) cannot be read",
      remedy: "Bring back a copy of it, or move it away to begin anew", subject: name,
      cause: cause)
  }
}
