import HostedCSQLite
package import HostedModel
import HostedFileIO
import Glibc

/// The content of a database, which its errors name.
package enum DatabaseContents: String, Sendable {
  case journal, ledger
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
    // SQLite has a code of its own for a full disk, but not for an exceeded quota.
    let isUnspecific = code == SQLITE_IOERR || code == SQLITE_CANTOPEN
    if isUnspecific, [ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EACCES].contains(system) {
      return ContentError(errno: system, path.contents == .journal ? .journal : .write, path.text)
    }
    let contents = path.contents
    let isDamaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB
    if isDamaged, contents == .ledger { return damagedLedger(path.text, cause) }
    let name = "\(contents.rawValue) \(path.text)"
    let failed: Code = contents == .journal ? .journalFailed : .ledgerFailed
    let (error, message, remedy): (Code, String, String) =
      switch code {
      case SQLITE_FULL:
        (
          .diskFull, "No space left to write the \(name)",
          "Free space on that file system and try again"
        )
      case SQLITE_NOMEM:
        (
          .outOfMemory, "SQLite cannot allocate memory for the \(name)",
          "Free memory or raise the process's limit, then try again"
        )
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
        (
          .notPermitted, "Cannot write the \(name)",
          contents == .journal
            ? "Give this user write permission"
            : "Give this user write permission for the file and its folder"
        )
      case SQLITE_BUSY:
        (
          failed, "Another process has locked the \(name)",
          "Wait until that process has finished, then try again"
        )
      case _ where isDamaged:
        (
          failed, "The \(name) is damaged",
          "Move it away and get the products again. Installed versions stay readable"
        )
      default:
        (
          failed, "Cannot read or write the \(name)",
          "Check the file system and the folder's permissions, then try again"
        )
      }
    return ContentError(error, message, remedy: remedy, subject: path.text, cause: cause)
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
