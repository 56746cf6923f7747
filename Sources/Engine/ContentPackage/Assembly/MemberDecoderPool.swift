import Concurrency
import ContentModel
import FileIO

/// Who makes the files of an assembly: all processors, or for little the thread that brings
/// members.
///
/// Members are decoded as they arrive; meanwhile, and after the last one, files are made of what is
/// at hand. For one thread.
final class MemberDecoderPool {
  /// Less than so many plain bytes are decoded before threads would have been started.
  private static let minimumForThreads = 1 << 20
  /// Packed bytes that wait at most: a part of what a source lends, so that it can go on meanwhile,
  /// and the caller has something to do.
  private static let waitingBytes = 256 << 10

  private let members: [IndexedMember]
  private let caller: MemberWorker
  private let atHand: AtHandWork
  /// Nil when the caller does it all.
  private let others: (queue: MemberQueue, threads: WorkerThreads)?

  /// Begins with what is at hand, and prepares for the missing members of the context's survey.
  ///
  /// Throws when no thread is to be had, and what goes wrong with what is at hand.
  init(_ context: AssemblyContext) throws {
    let survey = context.survey
    let atHand = AtHandWork(survey)
    let members = survey.plan.payload.members
    let plainLength = survey.missing.reduce(0) { $0 + members[$1.member].plainLength }
    self.members = members
    self.atHand = atHand
    caller = try MemberWorker(context)
    if context.workers == 0 || (plainLength < Self.minimumForThreads && !atHand.isMuch) {
      others = nil
      while try atHand.doSome(by: caller) {}
      return
    }
    // One less, since the caller decodes, too, whenever the others have enough to do.
    let count = max(1, context.workers - 1)
    let queue = MemberQueue(limit: Self.waitingBytes)
    let threads = try WorkerThreads(count: count) { _ in
      do {
        let worker = try MemberWorker(context)
        try queue.drain(
          meanwhile: { try atHand.doSome(by: worker) }, { try worker.unpack($0, $1) })
      } catch {
        queue.fail(error)
        atHand.giveUp()
        queue.throwAway()
      }
    }
    others = (queue, threads)
  }

  deinit {
    atHand.giveUp()
    leave()
  }

  /// Takes a member's packed bytes; decodes them itself while too many are on their way.
  ///
  /// Throws the first error of any member so far.
  func take(_ bytes: LentBytes, member: Int) throws {
    if let queue = others?.queue {
      if let error = queue.error { throw error }
      // Stored data are in this processor's cache, and need no work but the writing.
      let isStored = bytes.count >= members[member].plainLength
      if !isStored, queue.put(bytes, member: member) { return }
    }
    try bytes.withBytes { try caller.unpack(member, $0) }
  }

  /// Waits until all is written; throws the first error of any file.
  func finish() throws {
    while try atHand.doSome(by: caller) {}
    leave()
    if let error = others?.queue.error { throw error }
    try caller.lookAgain(at: atHand.namesOfOneInode)
  }

  private func leave() {
    others?.queue.close()
    others?.threads.join()
  }
}
