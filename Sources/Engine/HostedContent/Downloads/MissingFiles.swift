import ContentLibrary
public import ContentModel

extension ContentLibrary {
  /// Sets finished downloads to waiting if their files are missing.
  ///
  /// Called when the queue opens, before the first report. Returns an error for each content that
  /// cannot be checked; its downloads stay finished. If the journal cannot be written now, the next
  /// start repeats this.
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
  /// Returns the current version of `content`; nil if it is not installed.
  public func installedVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try library.currentVersion(of: content)
  }

  /// Returns whether a version is installed with all its files, by kind and size; reads no file.
  package func isComplete(_ content: ProductIdentifier, _ version: ContentVersion) throws -> Bool {
    try library.isComplete(content, version)
  }
}
