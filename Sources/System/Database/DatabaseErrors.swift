import CSQLite
package import ContentModel
import FileIO
import Glibc

/// The content of a database, which its errors name.
package enum DatabaseContents: String, CustomStringConvertible, Sendable {
  case journal
  case ledger

  package var description: String { rawValue }
}

/// The path of a database, and its content.
struct DatabasePath {
  let text: String
  let contents: DatabaseContents
}

extension ContentError {
  /// `system` is the errno of the failed system call, if SQLite only reports that I/O failed.
  static func database(
    _ path: DatabasePath, code: Int32, extended: Int32, system: Int32 = 0, _ words: String
  ) -> ContentError {
    let cause = "SQLite \(extended): \(words)"
    let isUnspecific = code == SQLITE_IOERR || code == SQLITE_CANTOPEN
    if isUnspecific, [ENOSPC, EMFILE, ENFILE, EACCES].contains(system) {
      return ContentError(errno: system, path.contents == .journal ? .journal : .write, path.text)
    }
    let contents = path.contents
    switch code {
    case SQLITE_FULL:
      return ContentError(
        .diskFull, "No space left to write the \(contents) \(path.text)",
        remedy: "Free space on that file system and try again", subject: path.text, cause: cause)
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
      return ContentError(
        .notPermitted, "Cannot write the \(contents) \(path.text)",
        remedy: contents == .journal
          ? "Give this user write permission"
          : "Give this user write permission for the file and its folder",
        subject: path.text, cause: cause)
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return contents == .journal
        ? damagedJournal(path.text, cause) : damagedLedger(path.text, cause)
    case SQLITE_BUSY where contents == .ledger:
      return ContentError(
        .ledgerFailed, "Another process has locked the ledger \(path.text)",
        remedy: "Wait until that process has finished, then try again", subject: path.text,
        cause: cause)
    default:
      return ContentError(
        contents == .journal ? .journalFailed : .ledgerFailed,
        "Cannot read or write the \(contents) \(path.text)",
        remedy: "Check the file system and the folder's permissions, then try again",
        subject: path.text, cause: cause)
    }
  }

  private static func damagedJournal(_ path: String, _ cause: String) -> ContentError {
    ContentError(
      .journalFailed, "The journal \(path) is damaged",
      remedy: "Move it away and get the products again. Installed versions stay readable",
      subject: path, cause: cause)
  }

  /// The remedy keeps the file, because it may be the only record of what accounts own.
  package static func damagedLedger(_ path: String, _ cause: String) -> ContentError {
    ContentError(
      .ledgerFailed, "The ledger \(path) is damaged, or is not a ledger",
      remedy: "Keep a copy of the file, then restore a backup, or recover its purchases with "
        + "“sqlite3 FILE .recover”",
      subject: path, cause: cause)
  }
}
