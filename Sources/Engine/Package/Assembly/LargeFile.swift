import HostedCDeflate
import HostedConcurrency
import HostedDigests
import HostedFileIO
import HostedModel

/// A file that spans several members.
///
/// Its parts arrive in any order, from any thread. Each part is written at once to its offset. One
/// thread at a time passes over the written parts in order, and seals the file after the last one.
/// If digests are compared, it hashes each part: the arriving bytes if they are next, otherwise the
/// written bytes, which are usually in the page cache.
final class LargeFile: @unchecked Sendable {
  // Unchecked, since only the thread that has set `isPassing` uses `digest`, and `file` does not
  // change.

  private struct State {
    var isWritten: [Bool]
    /// The index of the first part that was not passed.
    var next = 0
    /// Whether a thread passes over parts; it stays true after the file is sealed.
    var isPassing = false
  }

  private let parts: [AssemblyPlan.Part]
  private let entry: IndexedFile
  private let packageName: String
  private let file: File
  private let comparesDigest: Bool
  private let state: Mutex<State>
  private var digest = DigestStream()

  /// Opens or creates the file; `written` lists the parts that are already at their offsets.
  init(
    _ entry: IndexedFile, _ parts: [AssemblyPlan.Part], written: Set<Int>,
    in folder: Directory, _ name: String, of packageName: String, comparingDigest: Bool
  ) throws {
    comparesDigest = comparingDigest
    self.entry = entry
    self.packageName = packageName
    self.parts = parts
    // The file stays writable until it is complete, so that a restart can tell the difference.
    let file = try folder.updatedFile(name, mode: 0o644)
    // An existing file can be from another package that was published as the same version.
    if !written.isEmpty, try file.status().size > entry.size { try file.truncate(to: entry.size) }
    self.file = file
    state = Mutex(State(isWritten: parts.indices.map { written.contains($0) }))
  }

  /// Writes part `number`.
  ///
  /// Returns the identity of the file if it is now complete and sealed. Each thread passes its own
  /// `scratch`, which is at least as long as the longest part. Throws `indexMismatch` if the
  /// complete file does not match its digest, and `executableContent` if it is code.
  func write(
    _ bytes: PlainRuns, part number: Int, _ scratch: UnsafeMutableRawBufferPointer
  ) throws -> FileIdentity? {
    try file.write(bytes.runs, at: parts[number].fileOffset)
    let isNext = state.withLock { state in
      state.isWritten[number] = true
      guard state.next == number, !state.isPassing else { return false }
      state.isPassing = true
      return true
    }
    guard isNext else { return nil }
    if comparesDigest {
      for run in bytes.runs { try digest.update(run) }
    }
    return try passOn(scratch, isFirstDone: true)
  }

  /// Continues from the parts that are already written, and returns and throws like `write`.
  func resume(_ scratch: UnsafeMutableRawBufferPointer) throws -> FileIdentity? {
    let mayPass = state.withLock { state in
      guard !state.isPassing, state.next < parts.count, state.isWritten[state.next] else {
        return false
      }
      state.isPassing = true
      return true
    }
    return mayPass ? try passOn(scratch, isFirstDone: false) : nil
  }

  /// Passes over the written parts that follow; returns the file's identity if it is complete.
  private func passOn(_ scratch: UnsafeMutableRawBufferPointer, isFirstDone: Bool) throws
    -> FileIdentity?
  {
    var isDone = isFirstDone
    while let next = nextWritten(advancing: isDone) {
      if next == parts.count { return try seal() }
      if comparesDigest {
        let room = UnsafeMutableRawBufferPointer(rebasing: scratch[..<parts[next].length])
        let count = try file.read(into: room, at: parts[next].fileOffset)
        try digest.update(UnsafeRawBufferPointer(rebasing: room[..<count]))
      }
      isDone = true
    }
    return nil
  }

  /// Returns the next part to pass, or the number of parts at the end.
  ///
  /// If `isDone`, the current part was passed. Returns nil if the next part is not written yet; the
  /// thread that writes it continues.
  private func nextWritten(advancing isDone: Bool) -> Int? {
    state.withLock { state in
      if isDone { state.next += 1 }
      guard state.next < parts.count, !state.isWritten[state.next] else { return state.next }
      state.isPassing = false
      return nil
    }
  }

  private func seal() throws -> FileIdentity {
    let status = try file.status()
    guard try !comparesDigest || digest.finish() == entry.digest, status.size == entry.size else {
      throw ContentError.differs(entry.path, in: packageName)
    }
    // The index decides how many bytes the first part has.
    if let kind = try ExecutableCode.kind(of: file) {
      throw ExecutableCode.finding(kind, path: entry.path).error(in: packageName)
    }
    try file.setPermissions(status.permissions & 0o444)
    return try file.status().identity
  }
}

/// The borrowed, decompressed bytes of a member, in one or several buffers.
struct PlainRuns {
  let runs: [UnsafeRawBufferPointer]

  init(_ bytes: UnsafeRawBufferPointer) { runs = [bytes] }

  private init(_ runs: [UnsafeRawBufferPointer]) { self.runs = runs }

  var count: Int { runs.reduce(0) { $0 + $1.count } }

  subscript(range: Range<Int>) -> PlainRuns {
    var start = 0
    var found: [UnsafeRawBufferPointer] = []
    for run in runs {
      let part = range.clamped(to: start..<(start + run.count))
      if !part.isEmpty {
        found.append(
          UnsafeRawBufferPointer(
            rebasing: run[(part.lowerBound - start)..<(part.upperBound - start)]))
      }
      start += run.count
    }
    return PlainRuns(found)
  }

  func prefix(_ limit: Int) -> [UInt8] { Array(runs.joined().prefix(limit)) }

  // MARK: Stored members

  /// Finds the bytes of a gzip member that only has stored blocks, without a copy.
  ///
  /// Returns nil for any other member, which then goes to the decoder. Data that do not compress
  /// need no copy this way.
  /// Source: RFC 1952 §2.3, RFC 1951 §3.2.4.
  init?(storedIn member: UnsafeRawBufferPointer, plainLength: Int) {
    // Header: magic, deflate, no optional fields, fixed length. Trailer: CRC-32 and length.
    let end = member.count - 8
    guard end >= 10, member.littleEndian(0, 4) == 0x00_08_8b_1f else { return nil }
    var runs: [UnsafeRawBufferPointer] = []
    var checksum: UInt32 = 0
    var count = 0
    var place = 10
    var isLast = false
    while !isLast {
      // Block header: last or not, stored, zero padding. Then the length and its complement.
      guard place + 5 <= end, member[place] <= 1 else { return nil }
      let length = Int(member.littleEndian(place + 1, 2))
      guard member.littleEndian(place + 3, 2) == 0xffff - UInt64(length),
        place + 5 + length <= end
      else { return nil }
      isLast = member[place] == 1
      let run = UnsafeRawBufferPointer(rebasing: member[(place + 5)..<(place + 5 + length)])
      checksum = libdeflate_crc32(checksum, run.baseAddress, run.count)
      runs.append(run)
      count += length
      place += 5 + length
    }
    guard place == end, count == plainLength, member.littleEndian(end, 4) == checksum,
      member.littleEndian(end + 4, 4) == UInt32(truncatingIfNeeded: count)
    else { return nil }
    self.runs = runs
  }
}
