public import ContentModel

extension PaymentQueue {
  /// Removes unreadable records from the journal; returns an error that describes each.
  ///
  /// The queue ignores such records when it opens. Restore or download again what they described;
  /// the folders of installed versions stay. Blocks. Throws `stopped` once the queue is closed.
  public func repairJournal() throws -> [ContentError] {
    try engine.betweenEvents { _ in try engine.journal.removeUnreadable() }
  }
}
