import HostedModel
import HostedTestSupport

/// An empty journal, for reports that read nothing from it.
struct NoJournal: PlainJournal {
  func readQueue() -> JournaledQueue { JournaledQueue() }
  func receipt(of transaction: TransactionID) -> String? { nil }
  func commit(_ changes: [JournalChange]) {}
}
