import CSQLite
import ContentModel
import FileIO
import Glibc

/// The content of a database, which its errors name.
enum DatabaseContents {
  case journal
  case grants
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
    case .grants: return grants(path.text, code: code, cause)
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

  private static func grants(_ path: String, code: Int32, _ cause: String) -> ContentError {
    switch code {
    case SQLITE_FULL:
      return ContentError(
        .diskFull, "No space left to write the grants file \(path)",
        remedy: "Free space on that file system and try again", subject: path, cause: cause)
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
      return ContentError(
        .notPermitted, "Cannot write the grants file \(path)",
        remedy: "Give this user write permission for the file and its folder", subject: path,
        cause: cause)
    case SQLITE_CORRUPT, SQLITE_NOTADB: return damagedGrants(path, cause)
    case SQLITE_BUSY:
      return ContentError(
        .grantsFailed, "Another process has locked the grants file \(path)",
        remedy: "Wait until that process has finished, then try again", subject: path,
        cause: cause)
    default:
      return ContentError(
        .grantsFailed, "Cannot read or write the grants file \(path)",
        remedy: "Check the file system and the folder's permissions, then try again",
        subject: path, cause: cause)
    }
  }

  /// The remedy keeps the file, because it may be the only record of what accounts own.
  static func damagedGrants(_ path: String, _ cause: String) -> ContentError {
    ContentError(
      .grantsFailed, "The grants file \(path) is damaged, or is not a grants database",
      remedy: "Keep a copy of the file, then restore a backup, or recover its grants with "
        + "“sqlite3 FILE .recover”",
      subject: path, cause: cause)
  }
}
