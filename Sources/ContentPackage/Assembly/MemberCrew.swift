import ContentModel

/// Who decodes the members of an assembly: all processors, or for little the thread that brings them.
///
/// For one thread.
final class MemberCrew {
  /// Less than so many plain bytes are decoded before threads would have been started.
  private static let leastForThreads = 1 << 20

  private enum Way {
    case caller(MemberWorker)
    case all(caller: MemberWorker, MemberQueue, WorkerThreads)
  }

  private let way: Way

  /// Prepares for the missing members of the board's survey; throws when no thread is to be had.
  init(_ board: AssemblyBoard) throws {
    let survey = board.survey
    let members = survey.plan.payload.members
    let plainLength = survey.missing.reduce(0) { $0 + members[$1.member].plainLength }
    let caller = try MemberWorker(board)
    if board.workers == 0 || plainLength < Self.leastForThreads {
      way = .caller(caller)
      return
    }
    // One less, since the caller decodes, too, whenever the others have enough to do.
    let count = max(1, board.workers - 1)
    let queue = MemberQueue(
      count: 2 * count + 2, length: survey.missing.map(\.length).max() ?? 0)
    let threads = try WorkerThreads(count: count) { _ in
      do {
        let worker = try MemberWorker(board)
        queue.drain { try worker.unpack($0, $1) }
      } catch {
        queue.fail(error)
        queue.drain { _, _ in }
      }
    }
    way = .all(caller: caller, queue, threads)
  }

  deinit { leave() }

  /// Takes a member's packed bytes; decodes them itself while too many are on their way.
  ///
  /// Throws the first error of any member so far.
  func take(_ bytes: UnsafeRawBufferPointer, member: Int) throws {
    switch way {
    case .caller(let worker): try worker.unpack(member, bytes)
    case .all(let worker, let queue, _):
      if try !queue.put(bytes, member: member) { try worker.unpack(member, bytes) }
    }
  }

  /// Waits until all is written; throws the first error of any member.
  func finish() throws {
    leave()
    if case .all(_, let queue, _) = way, let error = queue.error { throw error }
  }

  private func leave() {
    guard case .all(_, let queue, let threads) = way else { return }
    queue.close()
    threads.join()
  }
}
