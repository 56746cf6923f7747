import ContentLibrary
public import ContentModel

extension ContentLibrary {
  /// Sets finished downloads whose files are missing to waiting; called at a start, before any
  /// report.
  ///
  /// Returns why a content cannot be checked; its downloads stay finished. If the journal cannot be
  /// written now, the next start finds the same.
  func reopenIncomplete(_ transactions: inout [TransactionRecord], _ queue: any QueueJournal) throws
    -> [ContentError]
  {
    let (incomplete, errors) = try incomplete(among: transactions.finishedContents)
    var changes: [JournalChange] = []
    for number in transactions.indices where !incomplete.isEmpty {
      if transactions[number].reopenDownloads(of: incomplete) {
        changes.append(.save(transactions[number]))
      }
    }
    if !changes.isEmpty { try? queue.commit(changes) }
    return errors
  }
}

extension PaymentQueue {
  /// The version of `content` that is installed and current; nil for none.
  public func installedVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try library.currentVersion(of: content)
  }

  /// Whether a version is installed, with all its files by kind and size; reads none of them.
  package func isComplete(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    try library.isComplete(content, version)
  }
}
