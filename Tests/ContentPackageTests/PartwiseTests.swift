import ContentModel
import ContentPackage
import FileIO
import Foundation
import Locks
import TestSupport
import TestTraits
import Testing

@Suite("Unpacking a package from its end", .long)
struct PartwiseTests {
  /// Each form that is read in order or by its directory, of the same folder.
  enum Form: String, CaseIterable, CustomTestStringConvertible {
    case tar, gzip, xz, zstd, bzip2, zip, storedZip, xar, product, pbzx

    var testDescription: String { rawValue }

    /// Whether reading begins anywhere, so that nothing is read ahead for what lies before.
    var isSeekable: Bool { [.tar, .zip, .storedZip, .xar].contains(self) }

    /// With the links and short files first, or last: as a disk lists them, it may be either.
    func archive(of folder: TemporaryFolder, isBackwards: Bool) throws -> [UInt8] {
      let folders = ["Contents", "Contents/deep", "Contents/deep/er"]
      let files =
        ["link", "deep/er/empty"] + (0..<12).map { "page-\($0)" } + ["film", "deep/er/noise"]
      let paths = (isBackwards ? files.reversed() : files).map { "Contents/\($0)" }
      func pack(_ options: [String]) throws -> [UInt8] {
        try bsdtar(
          ["-n"] + options, folder: folder.path, folders + paths + ["ContentInfo.plist"])
      }
      switch self {
      case .tar: return try pack(["--format", "pax"])
      case .gzip: return try pack(["--format", "pax", "-z"])
      case .xz: return try pack(["--format", "ustar", "-J"])
      case .zstd: return try pack(["--format", "gnutar", "--zstd"])
      case .bzip2: return try pack(["--format", "ustar", "-j"])
      case .zip: return try pack(["--format", "zip"])
      case .storedZip: return try pack(["--format", "zip", "--options", "zip:compression=store"])
      case .xar: return try pack(["--format", "xar"])
      case .product: return try productArchive(payload: pack(["--format", "cpio", "-z"]))
      case .pbzx:
        let plain = try pack(["--format", "newc"])
        return try productArchive(payload: storedPbzx(plain, chunk: 64 << 10))
      }
    }
  }

  private static let blockLength = 16 << 10
  private static let allowance: Int64 = 200_000
  private static let archives = Mutex<[String: Archive]>([:])

  /// An archive of the folder, and what it unpacks to; made once.
  private struct Archive {
    let bytes: [UInt8]
    let entries: [IndexedFile]
    let expected: [String: String]

    static func of(_ form: Form, isBackwards: Bool) throws -> Archive {
      let name = "\(form) \(isBackwards)"
      return try archives.withLock { archives in
        if let known = archives[name] { return known }
        let folder = try PartwiseTests.folder()
        let bytes = try form.archive(of: folder, isBackwards: isBackwards)
        let examination = try examine(bytes)
        #expect(examination.isValid)
        let made = try Archive(
          bytes: bytes, entries: examination.entries, expected: tree(folder.directory))
        archives[name] = made
        return made
      }
    }
  }

  /// Text, noise, one file much longer than the allowance, empty files, links and second names.
  static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    var random = SplitMix(state: 7)
    try folder.directory.createFile("ContentInfo.plist").write(Array(contentInfoText().utf8))
    let contents = try folder.directory.createDirectory("Contents")
    let deep = try contents.createDirectory("deep").createDirectory("er")
    try deep.createFile("noise").write(random.bytes(100_000))
    try deep.createFile("empty").write([UInt8]())
    try contents.createFile("film").write(random.bytes(600_000))
    for number in 0..<12 {
      try contents.createFile("page-\(number)").write(
        Array(String(repeating: "Page \(number). ", count: 200).utf8) + random.bytes(1500))
    }
    try contents.createLink("link", to: "deep/er/noise")
    return folder
  }

  private struct Case {
    let source: ShrinkingMemory
    let promise: UnpackPromise
    let expected: [String: String]
    let size: Int64

    init(_ form: Form, isBackwards: Bool = false) throws {
      let archive = try Archive.of(form, isBackwards: isBackwards)
      source = ShrinkingMemory(archive.bytes, blockLength: PartwiseTests.blockLength)
      promise = try ContentPackageTests.promise(entries: archive.entries)
      expected = archive.expected
      size = archive.entries.reduce(0) { $0 + $1.size }
    }

    func run(in staging: Directory, progress: (Int64) throws -> Void = { _ in }) throws
      -> [InstalledFile]
    {
      try PartwiseUnpacking(
        source, name: "test.pkg", in: staging, "content", promise: promise,
        allowance: PartwiseTests.allowance
      ).run(progress: progress)
    }

    /// Bytes that the folder has room for on disk, with what the source still holds.
    func disk(_ staging: Directory) throws -> Int64 {
      let name = "content"
      guard try staging.status(of: name) != nil else { return source.heldBytes }
      return try source.heldBytes + usedBytes(staging.directory(name))
    }
  }

  @Test(
    "Every form becomes the same files, within its disk, and no block is asked for twice",
    arguments: Form.allCases)
  func forms(_ form: Form) throws {
    let one = try Case(form)
    let staging = try TemporaryFolder()
    var peak: Int64 = 0
    var written: Int64 = 0
    let files = try one.run(in: staging.directory) {
      written += $0
      peak = max(peak, try one.disk(staging.directory))
    }
    let content = try staging.directory.directory("content")
    #expect(try tree(content) == one.expected)
    #expect(files.map(\.entry) == one.promise.entries)
    for file in files where file.entry.kind == .file {
      let parts = file.entry.path.pathComponents()
      let status = try content.directory(at: parts.dropLast()).status(of: parts.last ?? "")
      #expect(status?.identity == file.identity && status?.permissions == 0o444)
    }
    #expect(written == one.size)
    #expect(one.source.refused == 0)
    #expect(one.source.shrinkings > 2)
    guard form.isSeekable else { return }
    // Whole blocks of 4 kB for each file, and the blocks that are needed only in part. A compressed
    // stream is read ahead farther than these few bytes go.
    let slack = files.count * 4096 + 4 * Self.blockLength
    #expect(peak <= max(one.size, one.source.length) + Self.allowance + Int64(slack))
  }

  @Test("What fits is unpacked in one pass")
  func onePass() throws {
    let one = try Case(.gzip)
    let staging = try TemporaryFolder()
    _ = try PartwiseUnpacking(
      one.source, name: "test.pkg", in: staging.directory, "content", promise: one.promise
    ).run { _ in }
    #expect(one.source.shrinkings == 0)
    #expect(try tree(staging.directory.directory("content")) == one.expected)
  }

  @Test(
    "Wherever a step fails, the next start goes on, and needs no block that was given up",
    arguments: [Form.gzip, .zip, .xar], [false, true])
  func interrupted(_ form: Form, isBackwards: Bool) throws {
    var number = 1
    while true {
      let one = try Case(form, isBackwards: isBackwards)
      let staging = try TemporaryFolder()
      let plan = FaultPlan(failing: number)
      do {
        _ = try one.run(in: staging.opened(plan.fileSystem))
      } catch let error as ContentError {
        #expect(error.code == .diskFull)
      }
      guard plan.hasFired else { break }
      let files = try one.run(in: staging.directory)
      #expect(try tree(staging.directory.directory("content")) == one.expected, "step \(number)")
      #expect(files.map(\.entry) == one.promise.entries, "step \(number)")
      #expect(one.source.refused == 0, "step \(number)")
      number += SlowTests.stride(quick: 41)
    }
    #expect(number > 60, "\(number)")
  }

  @Test("A file that was read back with other bytes is not installed, and all begins anew")
  func damagedOnDisk() throws {
    struct Crash: Error {}
    let one = try Case(.gzip, isBackwards: true)
    let staging = try TemporaryFolder()
    #expect(throws: Crash.self) {
      try one.run(in: staging.directory) { _ in if one.source.shrinkings == 2 { throw Crash() } }
    }
    let contents = try staging.directory.directory(at: ["content", "Contents"])
    let name = try #require(try contents.entries().first { $0.name.hasPrefix("page") }?.name)
    let status = try #require(try contents.status(of: name))
    try contents.removeFile(name)
    try contents.createFile(name).write([UInt8](repeating: 1, count: Int(status.size)))
    one.source.refetches = true
    #expect(code { _ = try one.run(in: staging.directory) } == .pieceDamaged)
    #expect(try tree(staging.directory).isEmpty)
    _ = try one.run(in: staging.directory)
    #expect(try tree(staging.directory.directory("content")) == one.expected)
  }

  @Test(
    "A mark that is no number, or stands alone, counts for nothing",
    arguments: ["", "-1", "x", "99999999999999999999", String(repeating: "1", count: 33)])
  func badMark(text: String) throws {
    let one = try Case(.tar)
    let staging = try TemporaryFolder()
    try staging.directory.createFile(PartwiseUnpacking.markName).write(Array(text.utf8))
    #expect(try PartwiseUnpacking.mark(in: staging.directory, "content") == nil)
    try staging.directory.createDirectory("content").createFile("stranger").write([1])
    _ = try one.run(in: staging.directory)
    #expect(try tree(staging.directory.directory("content")) == one.expected)
  }

  @Test("A package that breaks a rule is refused in the first pass, whatever part is written")
  func refused() throws {
    let noise = String(repeating: "x", count: 200_000)
    let entries: [RawEntry] = [.info(), .file("Contents/a", noise), .file("Contents/b", noise)]
    let bytes = tar(entries + [.file("../evil")])
    let source = ShrinkingMemory(bytes, blockLength: Self.blockLength)
    let staging = try TemporaryFolder()
    let unpacking = PartwiseUnpacking(
      source, name: "test.pkg", in: staging.directory, "content",
      promise: try promise(entries: examine(tar(entries)).entries), allowance: Self.allowance)
    #expect(code { _ = try unpacking.run { _ in } } == .entryRefused)
    #expect(source.shrinkings == 0)
    #expect(try PartwiseUnpacking.mark(in: staging.directory, "content") == nil)
  }

  @Test("A second name of a file that is written later is that file")
  func hardLinks() throws {
    let noise = String(repeating: "x", count: 150_000)
    let bytes = tar([
      .info(), .file("Contents/a", noise), .file("Contents/b", noise), .file("Contents/c", noise),
      .hardLink("Contents/d", "Contents/a"), .hardLink("Contents/e", "Contents/d"),
    ])
    let source = ShrinkingMemory(bytes, blockLength: Self.blockLength)
    let staging = try TemporaryFolder()
    let files = try PartwiseUnpacking(
      source, name: "test.pkg", in: staging.directory, "content",
      promise: promise(entries: examine(bytes).entries), allowance: Self.allowance
    ).run { _ in }
    let content = try staging.directory.directory("content")
    #expect(try tree(content) == Unpacked(bytes).made)
    let names = ["Contents/a", "Contents/d", "Contents/e"]
    let identities = files.filter { names.contains($0.entry.path) }.map(\.identity)
    #expect(identities.count == 3 && Set(identities).count == 1)
    #expect(try content.directory("Contents").status(of: "a")?.permissions == 0o444)
  }
}

/// Bytes on disk of all files in a folder.
private func usedBytes(_ folder: Directory) throws -> Int64 {
  try folder.entries().reduce(0) { sum, entry in
    guard entry.kind == .directory else {
      var status = stat()
      lstat(folder.path(of: entry.name), &status)
      return sum + Int64(status.st_blocks) * 512
    }
    return try sum + usedBytes(folder.directory(entry.name))
  }
}

/// A package in memory that can be given up block by block.
final class ShrinkingMemory: ShrinkingSource {
  let blockLength: Int
  /// Reads of blocks that were given up.
  private(set) var refused = 0
  private(set) var shrinkings = 0
  /// Whether what was given up comes back when it is read.
  var refetches = false

  private let inner: MemorySource
  private var isHeld: [Bool]

  init(_ bytes: [UInt8], blockLength: Int) {
    inner = MemorySource(bytes)
    self.blockLength = blockLength
    isHeld = Array(repeating: true, count: (bytes.count + blockLength - 1) / blockLength)
  }

  var length: Int64 { inner.length }

  var heldBytes: Int64 {
    isHeld.indices.reduce(0) {
      $0 + (isHeld[$1] ? Int64(min(blockLength, inner.bytes.count - $1 * blockLength)) : 0)
    }
  }

  func giveUp(keeping needed: [Int]) {
    shrinkings += 1
    for number in isHeld.indices where !needed.contains(number) { isHeld[number] = false }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    guard offset < length else { return 0 }
    let number = Int(offset) / blockLength
    if !isHeld[number], refetches { isHeld[number] = true }
    if !isHeld[number] {
      refused += 1
      throw ContentError(.pieceDamaged, "given up", remedy: "")
    }
    let room = min(buffer.count, (number + 1) * blockLength - Int(offset))
    return try inner.read(
      into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]), at: offset)
  }
}

/// A product archive around any payload, made with bsdtar.
func productArchive(payload: [UInt8]) throws -> [UInt8] {
  let folder = try TemporaryFolder()
  try folder.directory.createFile("Distribution").write(Array("<installer-gui-script/>".utf8))
  let component = try folder.directory.createDirectory("chapter.pkg")
  try component.createFile("PackageInfo").write(Array("<pkg-info/>".utf8))
  try component.createFile("Payload").write(payload)
  return try bsdtar(
    ["--format", "xar", "--options", "compression=none"], folder: folder.path,
    ["Distribution", "chapter.pkg"])
}

/// A pbzx stream of chunks that are stored.
func storedPbzx(_ plain: [UInt8], chunk: Int) -> [UInt8] {
  func number(_ value: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
  }
  return stride(from: 0, to: plain.count, by: chunk).reduce(
    into: Array("pbzx".utf8) + number(chunk)
  ) {
    let part = plain[$1..<min($1 + chunk, plain.count)]
    $0 += number(part.count) + number(part.count) + part
  }
}
