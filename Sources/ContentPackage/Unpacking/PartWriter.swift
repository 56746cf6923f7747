import ContentModel
import FileIO

/// Writes those of a package's files that lie in one part of its plain bytes.
///
/// All files' bytes, one file after the other in the order of the archive, are counted from 0. What
/// begins before the part or goes on behind it is written as far as it lies in it, at its place.
final class PartWriter {
  /// The part of all plain bytes.
  static let everything: Range<Int64> = 0..<Int64.max

  /// What is written.
  let part: Range<Int64>
  /// Plain bytes that have passed.
  private(set) var position: Int64 = 0 {
    didSet { source?.position = position }
  }
  /// Bytes that were written.
  private(set) var written: Int64 = 0

  private let tree: TreeWriter
  private let source: NotingSource?
  private var file: File?
  /// Where the file that has begun begins.
  private var start: Int64 = 0

  /// `source` is told how far it is.
  init(_ root: Directory, part: Range<Int64> = everything, source: NotingSource? = nil) {
    tree = TreeWriter(root: root)
    self.part = part
    self.source = source
  }

  private var isWhole: Bool { part == Self.everything }

  /// Whether nothing that follows lies in the part.
  var isDone: Bool { position >= part.upperBound }

  /// Whether the file that has begun lies in the part, at least a little of it.
  var hasFile: Bool { file != nil }

  /// Makes the entry as far as it lies in the part.
  func begin(_ entry: CheckedEntry) throws {
    start = position
    file = nil
    switch entry.kind {
    case .file: if reaches(entry.size) { file = try open(entry.components) }
    case .directory: if isHere { _ = try tree.folder(at: entry.components) }
    case .link(let target):
      guard isHere else { return }
      try removeEarlier(entry.components)
      try tree.createLink(at: entry.components, to: target)
    case .hardLink(let source):
      guard isHere else { return }
      try removeEarlier(entry.components)
      // The file that gets a second name may lie in a part that is written later.
      if !isWhole, try !tree.exists(source) { _ = try tree.openFile(at: source) }
      try tree.createHardLink(at: entry.components, to: source)
    }
  }

  /// Takes away the name that an attempt to write this part has left.
  private func removeEarlier(_ components: [String]) throws {
    if !isWhole { try tree.removeFile(at: components) }
  }

  /// Whether what begins here lies in the part.
  private var isHere: Bool { part.contains(position) }

  /// Whether a file of `size` bytes that begins here lies in the part, at least a little of it.
  private func reaches(_ size: Int64?) -> Bool {
    isHere || size.map { position < part.lowerBound && $0 > part.lowerBound - position } ?? true
  }

  private func open(_ components: [String]) throws -> File {
    isWhole ? try tree.createFile(at: components) : try tree.openFile(at: components)
  }

  /// Takes the next bytes of the file that has begun.
  func add(_ bytes: UnsafeRawBufferPointer) throws {
    let here = (position..<(position + Int64(bytes.count))).clamped(to: part)
    if !here.isEmpty {
      let wanted = Int(here.lowerBound - position)..<Int(here.upperBound - position)
      try file?.write(
        UnsafeRawBufferPointer(rebasing: bytes[wanted]), at: here.lowerBound - start)
      written += Int64(wanted.count)
    }
    position += Int64(bytes.count)
  }

  /// Passes over `size` bytes that were not read.
  func skip(_ size: Int64) { position += size }

  /// Ends the file; what it is now if all of it is written, by this part and those behind it.
  func end() throws -> FileIdentity? {
    defer { file = nil }
    guard start >= part.lowerBound else { return nil }
    if !isWhole, let status = try file?.status() {
      try file?.setPermissions(status.permissions & 0o444)
    }
    return try file?.status().identity
  }

  /// Whether all bytes of the file that has begun lie in the part.
  var holdsWholeFile: Bool { start >= part.lowerBound && position <= part.upperBound }

  /// The identity of the file at `path` as it is now.
  func identity(ofFileAt path: String) throws -> FileIdentity? {
    try tree.identity(ofFileAt: path)
  }
}

/// A source that remembers how far a walk was when it first read each part of it.
///
/// From that follows what of the package is still needed for the files before any place.
final class NotingSource: ByteSource {
  /// How far the walk is, in plain bytes.
  var position: Int64 = 0

  let inner: any ByteSource
  private let stepLength: Int64
  private var firstReads: [Int64?]

  /// Remembers for every `stepLength` bytes.
  init(_ inner: any ByteSource, stepLength: Int) {
    self.inner = inner
    self.stepLength = Int64(max(1, stepLength))
    let steps = (inner.length + self.stepLength - 1) / self.stepLength
    firstReads = Array(repeating: nil, count: Int(steps))
  }

  var length: Int64 { inner.length }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    let count = try inner.read(into: buffer, at: offset)
    guard count > 0 else { return 0 }
    for step in Int(offset / stepLength)...Int((offset + Int64(count) - 1) / stepLength)
    where firstReads[step] == nil {
      firstReads[step] = position
    }
    return count
  }

  /// The numbers of the steps that were read for what lies before `position`.
  func needed(before position: Int64) -> [Int] {
    firstReads.indices.filter { firstReads[$0].map { $0 < position } ?? false }
  }
}
