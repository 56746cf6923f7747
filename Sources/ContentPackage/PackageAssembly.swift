package import ContentModel
package import FileIO
import Locks

/// Makes the files of a package in a folder, from what is at hand and from members as they arrive.
///
/// Members are decoded and written by all processors while later ones are fetched. Every file is
/// checked against its digest before it counts. Nothing is made durable: the caller syncs the file
/// system once. What was taken before an error or a stop is still written, for the next attempt's
/// survey. For one thread.
package final class PackageAssembly {
  private let survey: PackageSurvey
  private let name: String
  private let promise: UnpackPromise
  private let folder: Directory
  private let queue: MemberQueue
  private let board: AssemblyBoard
  private let memberAt: [Int64: Int]
  private var workers: WorkerThreads?
  /// Who unpacks when there are no other threads.
  private var ownWorker: MemberWorker?

  /// Prepares `folder`, which `survey` has looked at as staging: folders, links, what is at hand.
  ///
  /// Beside the caller's there are `workers` threads, one a processor unless given; with none `take`
  /// unpacks itself. `progress` is told of bytes written, from any thread. Throws errors of the file system, and
  /// `indexMismatch` for a file at hand that changed meanwhile.
  package init(
    _ survey: PackageSurvey, name: String, promise: UnpackPromise, in folder: Directory,
    workers count: Int? = nil, progress: @escaping @Sendable (Int64) -> Void
  ) throws {
    self.survey = survey
    self.name = name
    self.promise = promise
    self.folder = folder
    memberAt = Dictionary(
      survey.missing.map { ($0.offset, $0.member) }, uniquingKeysWith: { first, _ in first })
    let count = count ?? WorkerThreads.standardCount
    queue = MemberQueue(count: 2 * count + 2, length: survey.missing.map(\.length).max() ?? 0)
    board = AssemblyBoard(survey, name: name, folder: folder, workers: count, progress: progress)
    try AssemblyPreparation(survey, folder).run()
    try board.takeWhatIsAtHand()
    guard !survey.missing.isEmpty else { return }
    guard count > 0 else {
      ownWorker = try MemberWorker(board)
      return
    }
    workers = try WorkerThreads(count: count) { [queue, board] _ in
      do {
        let worker = try MemberWorker(board)
        queue.drain { try worker.unpack($0, $1) }
      } catch {
        queue.fail(error)
        queue.drain { _, _ in }
      }
    }
  }

  deinit {
    queue.close()
    workers?.join()
  }

  /// Takes the verified packed bytes of the missing member that begins at `offset` of the package.
  ///
  /// Waits while too many are on their way. Throws the first error of any member so far.
  package func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
    guard let member = memberAt[offset],
      survey.plan.payload.members[member].packedLength == bytes.count
    else {
      throw ContentError(
        .inconsistent, "\(name) has no member of \(bytes.count) bytes at \(offset)",
        remedy: "Report it with these words", subject: name)
    }
    if let ownWorker { return try ownWorker.unpack(member, bytes) }
    try queue.put(bytes, member: member)
  }

  /// Waits until all is written; every entry by path.
  ///
  /// Throws `indexMismatch`, `archiveDamaged`, `wrongProduct`, `wrongVersion` and the like when the
  /// package is not what was promised.
  package func finish() throws -> [InstalledFile] {
    queue.close()
    workers?.join()
    workers = nil
    if let error = queue.error { throw error }
    let identities = board.identities
    let files = try zip(survey.plan.index.files, identities).map { entry, identity in
      guard entry.kind != .file || identity != nil else {
        throw ContentError(
          .inconsistent, "\(name): “\(entry.path)” was not written",
          remedy: "Report it with these words", subject: name)
      }
      return InstalledFile(entry: entry, identity: identity)
    }
    let list = try folder.contents(
      of: ContentInfo.fileName, limit: Int64(ContentInfo.maximumLength))
    try promise.check(ContentInfo(propertyList: list), in: name)
    return files
  }
}
