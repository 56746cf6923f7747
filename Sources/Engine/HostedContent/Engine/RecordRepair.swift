public import ContentModel

extension PaymentQueue {
  /// Removes records of the journal that cannot be read; returns an error for each, which says what
  /// it was.
  ///
  /// Such records are set aside when the queue is opened. What they described can be restored or
  /// got again; the folders of installed versions stay. Blocks; throws `stopped` once the queue is
  /// closed.
  public func repairJournal() throws -> [ContentError] {
    try engine.betweenEvents { _ in try engine.journal.removeUnreadable() }
  }
}
