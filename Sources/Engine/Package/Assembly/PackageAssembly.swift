import HostedConcurrency
package import HostedFileIO
package import HostedModel

/// Creates the files of a package in a folder, from local copies and from arriving members.
///
/// Several threads decode and write members while later members are fetched. Local files are linked
/// or copied in between. If there is little work, the caller's thread does it, since starting
/// threads would take longer. Nothing is durable until the caller syncs the file system. Members
/// that were taken before an error or a stop are still written, and the survey of the next attempt
/// finds them. Use it from one thread.
package final class PackageAssembly {
  private let expected: ExpectedPackage
  private let context: AssemblyContext
  private let decoders: MemberDecoderPool
  private let writebackThread: WorkerThreads?

  /// Prepares `folder`, the staging folder of `survey`, and starts with the local files.
  ///
  /// The members are authenticated and the index is signed, so each file has the bytes that the
  /// publisher signed. With `comparingDigests`, each file is also hashed and compared with its
  /// digest in the index; `finish` or an earlier call throws `indexMismatch` if they differ. Files
  /// that are copied from installed trees are always compared.
  ///
  /// `workers` threads share the work with the caller, one per processor by default. If it is 0,
  /// `take` decodes on the caller's thread. For a large package, one more thread looks up the names
  /// of files, and then calls `writeback` from time to time to start writing to disk. `progress`
  /// gets the bytes written, from any thread. Throws file system errors, and `indexMismatch` if a
  /// local file has changed since the survey.
  package init(
    _ survey: PackageSurvey, name: String, expected: ExpectedPackage, in folder: Directory,
    workers: Int? = nil, comparingDigests: Bool = true,
    writeback: (@Sendable () -> Void)? = nil, progress: @escaping @Sendable (Int64) -> Void
  ) throws {
    let workers = workers ?? WorkerThreads.standardCount
    self.expected = expected
    let isLarge = workers > 0 && survey.bytesToWrite >= WritebackThread.stretch
    let turns = isLarge && writeback != nil ? WritebackThread() : nil
    context = AssemblyContext(
      survey, name: name, folder: folder, workers: workers, comparingDigests: comparingDigests,
      writeback: turns, progress: progress)
    try survey.prepare(folder)
    decoders = try MemberDecoderPool(context)
    // Last, because only a complete assembly closes it. Without `close`, the thread never ends.
    writebackThread = turns.flatMap { turns in
      let prewarmer = DirectoryCachePrewarmer(survey: survey, folder: folder)
      // Without this thread, the final sync takes longer.
      return try? WorkerThreads(count: 1) { _ in
        prewarmer.lookUpAll { !turns.isClosed }
        turns.run { writeback?() }
      }
    }
  }

  deinit { context.writeback?.close() }

  /// Takes the verified, compressed bytes of the missing member at `offset` in the package.
  ///
  /// Blocks while too many members wait. Throws the first error of any member so far.
  package func take(_ bytes: LentBytes, at offset: Int64) throws {
    let name = context.name
    let missing = context.survey.missing[...]
    let found = missing[missing.partitionPoint { $0.offset < offset }...].first
    guard let found, found.offset == offset, found.length == bytes.count else {
      throw ContentError.defect(
        "\(name): no member of \(bytes.count) bytes is missing at offset \(offset)", subject: name)
    }
    try decoders.take(bytes, member: found.member)
  }

  /// Waits until all files are written.
  ///
  /// Returns every entry, in the order of the index. Throws `indexMismatch`, `archiveDamaged`,
  /// `wrongProduct`, `wrongVersion` and similar errors if the package is not the expected one.
  package func finish() throws -> [InstalledFile] {
    try decoders.finish()
    let name = context.name
    let entries = context.survey.plan.index.files
    let files = try zip(entries, context.identities).map { entry, identity in
      guard entry.kind != .file || identity != nil else {
        throw ContentError.defect("\(name): “\(entry.path)” was not written", subject: name)
      }
      return InstalledFile(entry: entry, identity: identity)
    }
    let list = try context.folder.contents(
      of: ContentInfo.fileName, limit: Int64(ContentInfo.maximumLength))
    try expected.check(ContentInfo(propertyList: list), in: name)
    return files
  }
}

/// Looks up the names of files before they are created, on a separate thread.
///
/// The kernel caches the negative lookup. The thread that creates the file then does not have to
/// read the folder. While ext4 writes the folder to disk, such a read waits for the write.
struct DirectoryCachePrewarmer {
  let survey: PackageSurvey
  let folder: Directory

  /// Looks up every file that is not present, in order, while `isWanted` returns true.
  func lookUpAll(while isWanted: () -> Bool) {
    let chain = FolderChain(folder)
    for file in survey.plan.index.files where file.kind == .file {
      guard isWanted() else { return }
      guard !survey.present.contains(file.path) else { continue }
      // Ignore the error. The thread that creates the file reports it.
      _ = try? chain.status(of: file.path)
    }
  }
}
