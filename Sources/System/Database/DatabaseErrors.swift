import CSQLite
package import ContentModel
import FileIO
import Glibc

/// The content of a database, which its errors name.
package enum DatabaseContents: Sendable {
  case journal
  case ledger
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
    switch path.contents {
    case .journal: return journal(path.text, code: code, cause)
    case .ledger: return ledger(path.text, code: code, cause)
    }
  }

  private static func journal(_ path: String, code: Int32, _ cause: String) -> ContentError {
    switch code {
    case SQLITE_FULL:
      return ContentError(
        .diskFull, "No space left to write the journal \(path)",
        remedy: "Free space on that file system and try again", subject: path, cause: cause)
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
      return ContentError(
        .notPermitted, "Cannot write the journal \(path)",
        remedy: "Give this user write permission", subject: path, cause: cause)
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return ContentError(
        .journalFailed, "The journal \(path) is damaged",
        remedy: "Move it away and get the products again. Installed versions stay readable",
        subject: path, cause: cause)
    default:
      return ContentError(
        .journalFailed, "Cannot read or write the journal \(path)",
        remedy: "Check the file system and the folder's permissions, then try again", subject: path,
        cause: cause)
    }
  }

  private static func ledger(_ path: String, code: Int32, _ cause: String) -> ContentError {
    switch code {
    case SQLITE_FULL:
      return ContentError(
        .diskFull, "No space left to write the ledger \(path)",
        remedy: "Free space on that file system and try again", subject: path, cause: cause)
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
      return ContentError(
        .notPermitted, "Cannot write the ledger \(path)",
        remedy: "Give this user write permission for the file and its folder", subject: path,
        cause: cause)
    case SQLITE_CORRUPT, SQLITE_NOTADB: return damagedLedger(path, cause)
    case SQLITE_BUSY:
      return ContentError(
        .ledgerFailed, "Another process has locked the ledger \(path)",
        remedy: "Wait until that process has finished, then try again", subject: path,
        cause: cause)
    default:
      return ContentError(
        .ledgerFailed, "Cannot read or write the ledger \(path)",
        remedy: "Check the file system and the folder's permissions, then try again",
        subject: path, cause: cause)
    }
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
