import HostedDatabase
package import HostedModel
import FoundationEssentials

/// Installed contents, their files, and pins.
extension SQLiteJournal: InstallJournal {
  package func announce(
    _ content: InstalledContent, files: [InstalledFile], signers: Digest?
  ) throws {
    try write(content, files, signers, isConfirmed: false)
  }

  package func replace(
    _ content: InstalledContent, files: [InstalledFile], signers: Digest?
  ) throws {
    try write(content, files, signers, isConfirmed: true)
  }

  private func write(
    _ content: InstalledContent, _ files: [InstalledFile], _ signers: Digest?, isConfirmed: Bool
  ) throws {
    let list = InstalledFile.encoded(files)
    // Megabytes for many files. The download has reserved space for them.
    try write(usingReserve: false) { connection in
      try Self.delete(content.contentIdentifier, content.version, connection)
      let values: [SQLiteConnection.Value] = [
        .text(content.contentIdentifier.rawValue), .text(content.version.rawValue),
        .text(content.productIdentifier.rawValue), .integer(content.size),
        .integer(Int64(content.entryCount)), .real(content.date.timeIntervalSince1970),
        .integer(isConfirmed ? 1 : 0), signers.map { .blob($0.bytes) } ?? .null,
      ]
      try connection.run(
        "INSERT INTO content "
          + "(content, version, product, size, entry_count, installed_at, is_confirmed, signers) "
          + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", values)
      try connection.run(
        "INSERT INTO content_files VALUES (last_insert_rowid(), ?1)", [.blob(list)])
    }
  }

  package func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write {
      try $0.run(
        "UPDATE content SET is_confirmed = 1 WHERE content = ?1 AND version = ?2",
        .key(content, version))
    }
  }

  package func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write { connection in
      try Self.delete(content, version, connection)
      try Self.unpin(ContentKey(content, version: version), connection)
    }
  }

  private static func delete(
    _ content: ProductIdentifier, _ version: ContentVersion,
    _ connection: borrowing SQLiteConnection
  ) throws {
    try connection.run(
      "DELETE FROM content WHERE content = ?1 AND version = ?2", .key(content, version))
  }

  package func announced() throws -> [InstalledContent] { try contents(confirmed: false) }

  package func installed() throws -> [InstalledContent] { try contents(confirmed: true) }

  package func installed(_ content: ProductIdentifier) throws -> [InstalledContent] {
    try contents(confirmed: true, of: content)
  }

  private func contents(confirmed: Bool, of content: ProductIdentifier? = nil) throws
    -> [InstalledContent]
  {
    let condition = content == nil ? "" : " AND content = ?2"
    var values: [SQLiteConnection.Value] = [.integer(confirmed ? 1 : 0)]
    if let content { values.append(.text(content.rawValue)) }
    // `unreadableContents` returns those that cannot be read.
    let found = try read {
      try $0.all(
        "SELECT content, product, version, size, entry_count, installed_at FROM content "
          + "WHERE is_confirmed = ?1\(condition)", values
      ) { try? Self.content($0) }
    }
    return found.compactMap(\.self).sorted {
      ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version)
    }
  }

  static func content(_ row: SQLiteConnection.Row) throws -> InstalledContent {
    InstalledContent(
      contentIdentifier: try row.identifier(0), productIdentifier: try row.identifier(1),
      version: try row.version(2), size: row.integer(3), entryCount: Int(row.integer(4)),
      date: Date(timeIntervalSince1970: row.real(5)))
  }

  package func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest? {
    try read {
      try $0.first(
        "SELECT signers FROM content WHERE content = ?1 AND version = ?2", .key(content, version)
      ) { Digest(bytes: $0.blob(0)) } ?? nil
    }
  }

  package func pins() throws -> Set<ContentKey> {
    try Set(read { try $0.all("SELECT content, version FROM pin") { try Self.key($0) } })
  }

  static func key(_ row: SQLiteConnection.Row) throws -> ContentKey {
    ContentKey(try row.identifier(0), version: try row.version(1))
  }

  package func setPin(_ pinned: Bool, on key: ContentKey) throws {
    try write { connection in
      // One pin for each version, in any spelling.
      try Self.unpin(key, connection)
      guard pinned else { return }
      try connection.run(
        "INSERT INTO pin VALUES (?1, ?2)", .key(key.contentIdentifier, key.version))
    }
  }

  /// Removes a pin in any spelling: 1.0 and 1.0.0 are the same version, but not in SQL.
  private static func unpin(_ key: ContentKey, _ connection: borrowing SQLiteConnection) throws {
    // An unreadable pin is not a pin of this version.
    let pins = try connection.all("SELECT content, version FROM pin") { try? Self.key($0) }
    for pin in pins.compactMap(\.self) where pin == key {
      try connection.run(
        "DELETE FROM pin WHERE content = ?1 AND version = ?2",
        .key(pin.contentIdentifier, pin.version))
    }
  }

  package func files(of content: ProductIdentifier, _ version: ContentVersion) throws
    -> [InstalledFile]
  {
    let record = try read { try Self.files(of: content, version, $0) }
    guard let files = record.flatMap(InstalledFile.decoded) else {
      throw ContentError(
        .journalFailed, "Cannot read the journal's record of the files of \(content) \(version)",
        remedy: "Repair the library, or get the product again", subject: content.rawValue)
    }
    return files
  }

  package func files(of contents: ArraySlice<InstalledContent>) throws -> [[InstalledFile]?] {
    let records = try read { connection in
      try connection.snapshot {
        try contents.map { try Self.files(of: $0.contentIdentifier, $0.version, connection) }
      }
    }
    return records.map { $0.flatMap(InstalledFile.decoded) }
  }

  /// The encoded files of a version; nil without a record.
  private static func files(
    of content: ProductIdentifier, _ version: ContentVersion,
    _ connection: borrowing SQLiteConnection
  ) throws -> [UInt8]? {
    try connection.first(
      "SELECT files FROM content_files JOIN content c ON c.id = content_id "
        + "WHERE content = ?1 AND version = ?2", .key(content, version)
    ) { $0.blob(0) }
  }
}
