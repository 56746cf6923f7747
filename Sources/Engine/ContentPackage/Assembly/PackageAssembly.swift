import Concurrency
package import ContentModel
package import FileIO

/// Makes the files of a package in a folder, from what is at hand and from members as they arrive.
///
/// Members are decoded and written by all processors while later ones are fetched, and what is at
/// hand is linked or copied meanwhile; little is done by the thread that brings the members, since
/// starting others would take longer. Nothing is made durable: the caller syncs the file system
/// once. Members taken before an error or a stop are still written, for the next attempt's survey.
/// For one thread.
package final class PackageAssembly {
  private let survey: PackageSurvey
  private let name: String
  private let promise: UnpackPromise
  private let folder: Directory
  private let context: AssemblyContext
  private let memberAt: [Int64: Int]
  private let decoders: MemberDecoderPool
  private let writingOut: (WritebackThread, WorkerThreads)?

  /// Prepares `folder`, which `survey` has looked at as staging, and begins with what is at hand.
  ///
  /// Members were authenticated and the index signed, so each file is what the index's author made
  /// it; `comparingDigests` finds out besides whether he says the truth about it: each file is
  /// hashed then, and `finish` or an earlier call throws `indexMismatch` for another digest. What
  /// is copied from installed files is compared in any case. Beside the caller's there are
  /// `workers` threads, one a processor unless given; with none `take` unpacks itself. `writeback`
  /// is called on a further one while much is written, to have the disk write it; that one has
  /// looked for the files' names before. `progress` is told of bytes written, from any thread.
  /// Throws errors of the file system, and `indexMismatch` for a file at hand that changed
  /// meanwhile.
  package init(
    _ survey: PackageSurvey, name: String, promise: UnpackPromise, in folder: Directory,
    workers: Int? = nil, comparingDigests: Bool = true,
    writeback: (@Sendable () -> Void)? = nil, progress: @escaping @Sendable (Int64) -> Void
  ) throws {
    let workers = workers ?? WorkerThreads.standardCount
    self.survey = survey
    self.name = name
    self.promise = promise
    self.folder = folder
    memberAt = Dictionary(
      survey.missing.map { ($0.offset, $0.member) }, uniquingKeysWith: { first, _ in first })
    let isMuch = workers > 0 && survey.bytesToWrite >= WritebackThread.stretch
    let turns = isMuch && writeback != nil ? WritebackThread() : nil
    context = AssemblyContext(
      survey, name: name, folder: folder, workers: workers, comparingDigests: comparingDigests,
      writeback: turns, progress: progress)
    try AssemblyPreparation(survey, folder).run()
    decoders = try MemberDecoderPool(context)
    // Last, because only a complete assembly closes it: who forgets the thread waits for its end.
    writingOut = try turns.map { turns in
      let names = DirectoryCachePrewarmer(survey: survey, folder: folder)
      let thread = try WorkerThreads(count: 1) { _ in
        names.look { !turns.isClosed }
        turns.run { writeback?() }
      }
      return (turns, thread)
    }
  }

  deinit { writingOut?.0.close() }

  /// Takes the verified packed bytes of the missing member that begins at `offset` of the package.
  ///
  /// Waits while too many are on their way. Throws the first error of any member so far.
  package func take(_ bytes: LentBytes, at offset: Int64) throws {
    guard let member = memberAt[offset],
      survey.plan.payload.members[member].packedLength == bytes.count
    else {
      throw ContentError(
        .inconsistent, "\(name) has no member of \(bytes.count) bytes at \(offset)",
        remedy: "Report it with these words", subject: name)
    }
    try decoders.take(bytes, member: member)
  }

  /// Waits until all is written; every entry by path.
  ///
  /// Throws `indexMismatch`, `archiveDamaged`, `wrongProduct`, `wrongVersion` and the like when the
  /// package is not what was promised.
  package func finish() throws -> [InstalledFile] {
    try decoders.finish()
    let identities = context.identities
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
