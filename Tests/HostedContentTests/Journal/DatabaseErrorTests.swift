import HostedModel
import Glibc
import Testing

@testable import HostedDatabase

@Suite struct DatabaseErrorTests {
  /// The error of a write that failed with SQLITE_IOERR_WRITE and this errno.
  private func error(_ number: Int32, of contents: DatabaseContents) -> ContentError {
    ContentError.database(
      DatabasePath(text: "/library/file.sqlite", contents: contents), code: 10, extended: 778,
      system: number, "disk I/O error")
  }

  @Test func `an exceeded quota is a full disk, so that a removal can use the reserve`() {
    for number in [ENOSPC, EDQUOT] {
      #expect(error(number, of: .journal).code == .diskFull)
      #expect(error(number, of: .ledger).code == .diskFull)
    }
    #expect(error(EIO, of: .journal).code == .journalFailed)
    #expect(error(EIO, of: .ledger).code == .ledgerFailed)
  }

  @Test func `missing memory has its own code, which does not ask to check the disk`() {
    let path = DatabasePath(text: "/library/file.sqlite", contents: .journal)
    let error = ContentError.database(path, code: 7, extended: 7, "out of memory")
    #expect(error.code == .outOfMemory && error.isRetryable)
    #expect(error.remedy.contains("memory"))
    #expect(self.error(ENOMEM, of: .ledger).code == .outOfMemory)
  }
}
