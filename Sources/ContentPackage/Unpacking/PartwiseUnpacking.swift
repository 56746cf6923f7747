package import ContentModel
import Digests
package import FileIO

/// A package on disk that is given up block by block.
package protocol ShrinkingSource: ByteSource {
  /// Bytes of a block; the last may be shorter.
  var blockLength: Int { get }
  /// Bytes of the blocks that were not given up, there already or not.
  var heldBytes: Int64 { get }
  /// Gives up every block but the `needed` ones.
  func giveUp(keeping needed: [Int]) throws
}

/// Unpacks a package from its end to its beginning, and gives up what of it is unpacked.
///
/// An archive can be read from its beginning only. So the files at its end are written first, are
/// made durable, and then the blocks behind all that is still needed are given up; and so on in
/// several passes. At every instant the disk holds either the blocks of a file or the file: nothing
/// is fetched twice after a crash, and there is never room needed for the archive and the files
/// together. The price is reading what is left once more in each pass. An archive that fits into
/// the allowance is unpacked in a single one.
package struct PartwiseUnpacking {
  /// Says in staging which files are written; a number, in plain bytes from the beginning.
  package static let markName = "unpacked-from"
  private static let markLimit: Int64 = 32

  private let source: any ShrinkingSource
  private let name: String
  private let staging: Directory
  private let contentName: String
  private let promise: UnpackPromise
  private let entries: [IndexedFile]
  private let limits: PackageLimits
  private let allowance: Int64

  /// Bytes beyond the installed size that staging may take while a package is unpacked: a tenth, less
  /// what a file system rounds up.
  package static func allowance(installedSize: Int64) -> Int64 {
    max(installedSize / 11, 4 << 20)
  }

  /// Unpacks `source`, which messages call `name`, into the folder `contentName` of `staging`.
  ///
  /// `promise` must have the entries of the signed index. A nil `allowance` is the standard one.
  package init(
    _ source: any ShrinkingSource, name: String, in staging: Directory, _ contentName: String,
    promise: UnpackPromise, limits: PackageLimits = .standard, allowance: Int64? = nil
  ) {
    self.source = source
    self.name = name
    self.staging = staging
    self.contentName = contentName
    self.promise = promise
    self.limits = limits
    entries = promise.entries ?? []
    let size = entries.reduce(0) { $0 + $1.size }
    self.allowance = allowance ?? Self.allowance(installedSize: size)
  }

  private var total: Int64 { entries.reduce(0) { $0 + $1.size } }

  /// Plain bytes from which on all files in `staging` are written; nil when none count.
  package static func mark(in staging: Directory, _ contentName: String) throws -> Int64? {
    guard let status = try staging.status(of: markName), status.kind == .file,
      status.size <= markLimit, try staging.status(of: contentName)?.kind == .directory
    else { return nil }
    let text = String(decoding: try staging.contents(of: markName, limit: markLimit), as: UTF8.self)
    return Int64(text).flatMap { $0 >= 0 ? $0 : nil }
  }

  /// Forgets what was written, so that unpacking begins anew.
  package static func forget(in staging: Directory, _ contentName: String) throws {
    try staging.removeFile(markName)
    try staging.sync()
    try staging.removeTree(contentName)
  }

  /// Unpacks what is not unpacked yet; every entry by path with its identity.
  ///
  /// Blocks; `progress` is told the bytes that each write adds, and what it throws ends the work. The
  /// first pass of a package that was never unpacked checks all of it, against every rule and the
  /// promise. What is written is hashed before it counts. Throws what `unpackPackage` throws, and
  /// `pieceDamaged` when the disk returns something else than was written; then all begins anew.
  package func run(progress: (_ bytesWritten: Int64) throws -> Void) throws -> [InstalledFile] {
    do {
      return try withoutActuallyEscaping(progress) { try runPasses(progress: $0) }
    } catch let refusal as Refusal {
      throw refusal.error(in: name)
    }
  }

  private func runPasses(progress: @escaping (Int64) throws -> Void) throws -> [InstalledFile] {
    var upper = try Self.mark(in: staging, contentName)
    if upper == nil { try Self.forget(in: staging, contentName) }
    let content = try staging.createDirectory(contentName, exclusive: upper == nil)
    let noting = NotingSource(source, stepLength: source.blockLength)
    var verified: [String: FileIdentity] = [:]
    var isFirst = true
    while upper != 0 {
      let lower = nextPart(below: upper)
      let writer = PartWriter(content, part: lower..<(upper ?? .max), source: noting)
      if upper == nil {
        verified = try checkAndWrite(writer, noting, progress)
      } else {
        let filler = PartFiller(writer, entries, skips: !isFirst, progress)
        try walk(noting, filler)
        verified.merge(filler.verified) { _, new in new }
      }
      if lower > 0 { try giveUp(below: lower, noting) }
      upper = lower
      isFirst = false
    }
    return try installedFiles(in: content, verified)
  }

  /// Bytes that staging may still grow by until all is unpacked.
  package func bytesToWrite() throws -> Int64 {
    let left = min(try Self.mark(in: staging, contentName) ?? total, total)
    return bound - (total - left)
  }

  /// Bytes that staging may take in all.
  private var bound: Int64 {
    // An archive may be longer than its files, of which the disk knows nothing.
    max(total, source.length) + allowance
  }

  /// Where the part begins that is written next, so that the disk's bound is kept.
  private func nextPart(below upper: Int64?) -> Int64 {
    let left = min(upper ?? total, total)
    let room = bound - source.heldBytes - (total - left)
    // Some blocks that are half needed are held besides; but a pass must get on.
    return max(0, left - max(room, allowance / 4))
  }

  /// The pass that reads all of the package, of which nothing is known yet.
  private func checkAndWrite(
    _ writer: PartWriter, _ noting: NotingSource, _ progress: @escaping (Int64) throws -> Void
  ) throws -> [String: FileIdentity] {
    if case .zip = try Container(source) { try ZipDirectory.check(source, limits: limits) }
    var told: Int64 = 0
    let unpacker = Unpacker(name: name, writer: writer, isContent: true, promise: promise) {
      try progress($0 - told)
      told = $0
    }
    try walk(noting, unpacker)
    _ = try unpacker.complete()
    return unpacker.identities
  }

  private func walk(_ noting: NotingSource, _ visitor: any EntryVisitor) throws {
    noting.position = 0
    var walk = try PackageWalk(
      noting, limits: limits, isContent: true, isChecked: true, visitor: visitor)
    try walk.run()
  }

  /// Makes durable what was written, says so, and then gives up what it was made of.
  private func giveUp(below lower: Int64, _ noting: NotingSource) throws {
    try staging.syncFileSystem()
    try staging.replaceFile(Self.markName, with: Array("\(lower)".utf8), mode: 0o600)
    try source.giveUp(keeping: noting.needed(before: lower))
  }

  // MARK: What is installed

  /// Every entry with its identity; files that were not hashed on their way are hashed now.
  private func installedFiles(in content: Directory, _ verified: [String: FileIdentity]) throws
    -> [InstalledFile]
  {
    let chain = FolderChain(content)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
    defer { buffer.deallocate() }
    var digest = DigestStream()
    return try entries.sorted(by: IndexedFile.isOrdered).map { entry in
      guard entry.kind == .file else { return InstalledFile(entry: entry, identity: nil) }
      let place = try chain.parent(of: entry.path)
      guard let status = try place.folder.status(of: place.name), status.kind == .file,
        status.size == entry.size,
        try verified[entry.path]?.inode == status.identity.inode
          || digest.finish(reading: place.folder.file(place.name), through: buffer) == entry.digest
      else { throw try damaged(entry.path) }
      return InstalledFile(entry: entry, identity: status.identity)
    }
  }

  private func damaged(_ path: String) throws -> ContentError {
    try Self.forget(in: staging, contentName)
    return ContentError(
      .pieceDamaged, "“\(path)” of \(name) was read back with other bytes than were written",
      remedy: "Check the disk, and start the download again", subject: name)
  }
}

/// Writes one part of a package that was checked as a whole before.
private final class PartFiller: EntryVisitor {
  private(set) var verified: [String: FileIdentity] = [:]

  private let writer: PartWriter
  private let digests: [String: Digest]
  private let skips: Bool
  private let progress: (Int64) throws -> Void
  private var digest = DigestStream()
  private var size: Int64?
  private var told: Int64 = 0

  init(
    _ writer: PartWriter, _ entries: [IndexedFile], skips: Bool,
    _ progress: @escaping (Int64) throws -> Void
  ) {
    self.writer = writer
    self.skips = skips
    self.progress = progress
    digests = Dictionary(
      entries.compactMap { entry in entry.digest.map { (entry.path, $0) } },
      uniquingKeysWith: { first, _ in first })
  }

  var isSatisfied: Bool { writer.isDone }
  var skipsFile: Bool { skips && !writer.hasFile && size != nil }

  func refuse(_ finding: Finding) throws { throw Refusal(finding) }

  func begin(_ entry: CheckedEntry) throws {
    size = entry.size
    digest = DigestStream()
    try writer.begin(entry)
  }

  func add(_ bytes: UnsafeRawBufferPointer) throws {
    try writer.add(bytes)
    if writer.hasFile { try digest.update(bytes) }
    try progress(writer.written - told)
    told = writer.written
  }

  func end(_ entry: CheckedEntry) throws {
    guard case .file = entry.kind else { return }
    if skipsFile { return writer.skip(size ?? 0) }
    let isWhole = writer.hasFile && writer.holdsWholeFile
    let identity = try writer.end()
    if isWhole, try digest.finish() == digests[entry.path] { verified[entry.path] = identity }
  }
}
