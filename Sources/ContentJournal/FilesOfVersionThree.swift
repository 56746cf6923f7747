import ContentModel

/// The files of contents as the journal's versions up to 3 kept them: one row a file.
enum FilesOfVersionThree {
  /// Writes them as they are kept now, and drops the old table.
  static func bringOver(_ connection: borrowing SQLiteConnection) throws {
    var contents: [Int64] = []
    try connection.query("SELECT id FROM content") { contents.append($0.integer(0)) }
    for content in contents {
      var files: [InstalledFile] = []
      try connection.query(
        "SELECT path, kind, size, digest, target, inode, modified, changed "
          + "FROM content_file WHERE content_id = ?1", [.integer(content)]
      ) { files.append(try file(from: $0)) }
      try connection.run(
        "INSERT INTO content_files VALUES (?1, ?2)",
        [.integer(content), .blob(InstalledFile.encoded(files))])
    }
    try connection.execute("DROP TABLE content_file")
  }

  private static func file(from row: SQLiteConnection.Row) throws -> InstalledFile {
    guard let kind = IndexedFile.Kind(rawValue: row.text(1)) else {
      throw ContentError(
        .journalFailed, "The journal's record of the file \(row.text(0)) cannot be read",
        remedy: "Move the journal away and get the product again")
    }
    let entry = IndexedFile(
      path: row.text(0), kind: kind, size: row.integer(2), digest: Digest(bytes: row.blob(3)),
      target: row.isNull(4) ? nil : row.text(4))
    guard !row.isNull(5) else { return InstalledFile(entry: entry, identity: nil) }
    return InstalledFile(
      entry: entry,
      identity: FileIdentity(
        inode: UInt64(bitPattern: row.integer(5)), size: entry.size, modified: row.integer(6),
        changed: row.integer(7)))
  }
}
