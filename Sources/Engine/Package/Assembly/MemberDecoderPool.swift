import HostedConcurrency
import HostedModel
import HostedFileIO

/// The threads that create the files of an assembly.
///
/// A small package uses only the caller. Members are decoded as they arrive. Files that are
/// available locally are created in between, and after the last member. Use it from one thread.
final class MemberDecoderPool {
  /// With fewer decompressed bytes than this, decoding ends before threads would have started.
  private static let minimumForThreads = 1 << 20
  /// The limit of the compressed bytes that wait in the queue.
  ///
  /// It is lower than what a source lends, so that the source can continue, and so that the caller
  /// also decodes.
  private static let waitingBytes = 256 << 10

  private let members: [IndexedMember]
  private let caller: MemberWorker
  private let localFiles: LocalFileQueue
  /// Nil if the caller's thread does all the work.
  private let others: (queue: MemberQueue, threads: WorkerThreads)?

  /// Starts with the local files, and prepares for the missing members of the context's survey.
  ///
  /// If no thread can be started, the caller does all the work. Throws errors while local files are
  /// created.
  init(_ context: AssemblyContext) throws {
    let survey = context.survey
    let localFiles = LocalFileQueue(survey)
    let members = survey.plan.payload.members
    let plainLength = survey.missing.reduce(0) { $0 + members[$1.member].plainLength }
    self.members = members
    self.localFiles = localFiles
    caller = try MemberWorker(context)
    let queue = MemberQueue(limit: Self.waitingBytes)
    let work: @Sendable (Int) -> Void = { _ in
      do {
        let worker = try MemberWorker(context)
        try queue.drain(
          meanwhile: { try localFiles.processNext(with: worker) }, { try worker.unpack($0, $1) })
      } catch {
        queue.fail(error)
        localFiles.dropRest()
        queue.discardAll()
      }
    }
    let isLarge = plainLength >= Self.minimumForThreads || localFiles.isLarge
    // One less, since the caller also decodes while the queue is full.
    let count = max(1, context.workers - 1)
    if context.workers > 0, isLarge, let threads = try? WorkerThreads(count: count, work) {
      others = (queue, threads)
    } else {
      others = nil
      while try localFiles.processNext(with: caller) {}
    }
  }

  deinit {
    localFiles.dropRest()
    leave()
  }

  /// Queues the compressed bytes of a member, or decodes them now if the queue is full.
  ///
  /// Throws the first error of any member so far.
  func take(_ bytes: LentBytes, member: Int) throws {
    if let queue = others?.queue {
      if let error = queue.error { throw error }
      // Stored members are in this processor's cache, and only need to be written.
      let isStored = bytes.count >= members[member].plainLength
      if !isStored, queue.put(bytes, member: member) { return }
    }
    try bytes.withBytes { try caller.unpack(member, $0) }
  }

  /// Waits until all files are written; throws the first error of any file.
  func finish() throws {
    while try localFiles.processNext(with: caller) {}
    leave()
    if let error = others?.queue.error { throw error }
    try caller.refreshIdentities(of: localFiles.filesSharingInodes)
  }

  private func leave() {
    others?.queue.close()
    others?.threads.join()
  }
}
