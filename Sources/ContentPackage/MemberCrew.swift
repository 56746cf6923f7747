import ContentModel

/// Who decodes the members of an assembly: all processors, or for little the thread that brings them.
///
/// For one thread.
final class MemberCrew {
  /// Less than so many plain bytes are decoded before threads would have been started.
  private static let leastForThreads = 1 << 20

  private enum Way {
    case caller(MemberWorker)
    case threads(MemberQueue, WorkerThreads)
  }

  private let way: Way

  /// Prepares for the missing members of the board's survey; throws when no thread is to be had.
  init(_ board: AssemblyBoard) throws {
    let survey = board.survey
    let members = survey.plan.payload.members
    let plainLength = survey.missing.reduce(0) { $0 + members[$1.member].plainLength }
    if board.workers == 0 || plainLength < Self.leastForThreads {
      way = .caller(try MemberWorker(board))
      return
    }
    let count = board.workers
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
    way = .threads(queue, threads)
  }

  deinit { leave() }

  /// Takes a member's packed bytes; waits while too many are on their way.
  ///
  /// Throws the first error of any member so far.
  func take(_ bytes: UnsafeRawBufferPointer, member: Int) throws {
    switch way {
    case .caller(let worker): try worker.unpack(member, bytes)
    case .threads(let queue, _): try queue.put(bytes, member: member)
    }
  }

  /// Waits until all is written; throws the first error of any member.
  func finish() throws {
    leave()
    if case .threads(let queue, _) = way, let error = queue.error { throw error }
  }

  private func leave() {
    guard case .threads(let queue, let threads) = way else { return }
    queue.close()
    threads.join()
  }
}
