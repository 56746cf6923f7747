import Glibc
import HostedCArchive
import HostedModel

/// A libarchive reader for exactly one format or filter.
///
/// All other parsers of libarchive stay disabled to reduce the attack surface. libarchive reports a
/// doubtful entry as a warning, so any result except OK and EOF is an error. Use it from one
/// thread.
final class ArchiveReader {
  enum Format {
    case xar, zip, tar, cpio
    /// Compressed data as one entry.
    case raw(Filter)
  }

  enum Filter { case gzip, xz, zstd, bzip2 }

  private let archive: OpaquePointer
  private let locale: locale_t
  fileprivate let stream: any ByteStream
  /// The error of the stream; it makes libarchive stop, and then the reader throws it.
  fileprivate var streamError: (any Error)?
  // libarchive only fills part of the buffer at the end. If it is called again after the end,
  // libarchive 3.6.2 returns made-up zeros for an entry of a xar, because its offset is wrong.
  private var isDataEnded = false

  /// Opens `stream`; throws a finding if libarchive rejects it, and the errors of the stream.
  init(_ stream: any ByteStream, format: Format) throws {
    guard let locale = hc_utf8_locale_create() else {
      throw ContentError(
        .inconsistent, "The locale C.UTF-8 is not available",
        remedy: "Install glibc 2.35 or newer")
    }
    guard let archive = archive_read_new() else {
      hc_utf8_locale_free(locale)
      throw ContentError.outOfMemory("libarchive")
    }
    self.archive = archive
    self.locale = locale
    self.stream = stream
    // From here on, `deinit` frees both if an error is thrown.
    try calling("enable the format") { Self.enable(format, archive) }
    if case .raw(let filter) = format {
      try calling("enable the filter") { Self.enable(filter, archive) }
    }
    archive_read_set_callback_data(archive, Unmanaged.passUnretained(self).toOpaque())
    archive_read_set_read_callback(archive, readNextBlock)
    if stream is SourceStream {
      archive_read_set_skip_callback(archive, skipBytes)
      archive_read_set_seek_callback(archive, seekToOffset)
    }
    try calling("open the archive") { archive_read_open1(archive) }
    if case .raw = format, archive_filter_count(archive) < 2 {
      throw Finding.damaged("The compressed data has an invalid header")
    }
  }

  deinit {
    archive_read_free(archive)
    hc_utf8_locale_free(locale)
  }

  private static func enable(_ format: Format, _ archive: OpaquePointer) -> Int32 {
    switch format {
    case .xar: archive_read_support_format_xar(archive)
    // The seekable reader finds entries with the central directory, but uses the names of the local
    // headers. `ZipDirectory` has already compared them. The streaming reader stays disabled.
    case .zip: archive_read_support_format_zip_seekable(archive)
    case .tar: archive_read_support_format_tar(archive)
    case .cpio: archive_read_support_format_cpio(archive)
    case .raw: archive_read_support_format_raw(archive)
    }
  }

  private static func enable(_ filter: Filter, _ archive: OpaquePointer) -> Int32 {
    switch filter {
    case .gzip: archive_read_support_filter_gzip(archive)
    case .xz: archive_read_support_filter_xz(archive)
    case .zstd: archive_read_support_filter_zstd(archive)
    case .bzip2: archive_read_support_filter_bzip2(archive)
    }
  }

  /// Skips data that were not read, and returns the next entry, or nil at the end.
  func next() throws -> ArchiveEntry? {
    var entry: OpaquePointer?
    let result = try calling("read the next entry", alsoFine: ARCHIVE_EOF) {
      archive_read_next_header(archive, &entry)
    }
    isDataEnded = false
    guard result != ARCHIVE_EOF, let entry else { return nil }
    return withLocale { Self.values(of: entry) }
  }

  /// Reads data of the entry, with zeros for holes; returns 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if isDataEnded { return 0 }
    let count = withLocale { archive_read_data(archive, buffer.baseAddress, buffer.count) }
    guard count >= 0 else { throw failure("read an entry's data") }
    isDataEnded = count < buffer.count
    return count
  }

  func skipData() throws {
    try calling("skip an entry's data", alsoFine: ARCHIVE_EOF) { archive_read_data_skip(archive) }
  }

  /// The number of bytes of the format that were consumed, after decompression.
  var plainPosition: Int64 { archive_filter_bytes(archive, 0) }

  /// Throws if a compressed `source` has data after the end of the compressed stream.
  func checkRest(of source: any ByteSource) throws {
    var offset = UInt64(max(0, archive_filter_bytes(archive, -1)))
    while true {
      let rest = try source.bytes(at: offset, count: 64 << 10)
      if rest.isEmpty { return }
      guard rest.allSatisfy({ $0 == 0 }) else {
        throw Finding.damaged("The compressed data has extra bytes after its end")
      }
      offset += UInt64(rest.count)
    }
  }

  // MARK: Calling libarchive

  @discardableResult
  private func calling(_ action: String, alsoFine: Int32 = ARCHIVE_OK, _ body: () -> Int32) throws
    -> Int32
  {
    let result = withLocale(body)
    guard result == ARCHIVE_OK || result == alsoFine else { throw failure(action) }
    // An error of the source must not look like the end of the archive.
    if let streamError { throw streamError }
    return result
  }

  private func failure(_ action: String) -> any Error {
    if let streamError { return streamError }
    let cause = archive_error_string(archive).map { String(cString: $0) }
    return Finding.damaged("Cannot \(action)", cause: cause ?? "libarchive reported no cause")
  }

  private func withLocale<Result>(_ body: () -> Result) -> Result {
    let previous = hc_locale_use(locale)
    defer { _ = hc_locale_use(previous) }
    return body()
  }

  // MARK: Entries

  private static func values(of entry: OpaquePointer) -> ArchiveEntry {
    ArchiveEntry(
      path: bytes(archive_entry_pathname(entry)), kind: kind(of: entry),
      permissions: UInt32(archive_entry_perm(entry)) & 0o7777,
      size: archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : nil)
  }

  private static func kind(of entry: OpaquePointer) -> ArchiveEntry.Kind {
    if let target = bytes(archive_entry_hardlink(entry)) { return .hardLink(to: target) }
    switch UInt32(archive_entry_filetype(entry)) {
    case hc_archive_type_regular(): return .file
    case hc_archive_type_directory(): return .directory
    case hc_archive_type_symlink(): return .link(target: bytes(archive_entry_symlink(entry)) ?? [])
    case hc_archive_type_character(): return .other("a character device")
    case hc_archive_type_block(): return .other("a block device")
    case hc_archive_type_fifo(): return .other("a FIFO")
    case hc_archive_type_socket(): return .other("a socket")
    default: return .other("of an unknown type")
    }
  }

  private static func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8]? {
    text.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
  }

  // The reader outlives every call of its callbacks.
  fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> ArchiveReader? {
    context.map { Unmanaged<ArchiveReader>.fromOpaque($0).takeUnretainedValue() }
  }
}

private func readNextBlock(
  _ archive: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
  _ block: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> Int {
  guard let reader = ArchiveReader.from(context), reader.streamError == nil else { return -1 }
  do {
    let bytes = try reader.stream.next()
    block?.pointee = bytes.baseAddress
    return bytes.count
  } catch {
    reader.streamError = error
    hc_archive_set_error(archive, -1, "Cannot read the package")
    return -1
  }
}

private func skipBytes(
  _ archive: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ count: Int64
) -> Int64 {
  guard let stream = ArchiveReader.from(context)?.stream as? SourceStream, count > 0 else {
    return 0
  }
  let before = stream.offset
  let (target, overflow) = before.addingReportingOverflow(count)
  stream.seek(to: overflow ? .max : target)
  return stream.offset - before
}

private func seekToOffset(
  _ archive: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32
) -> Int64 {
  guard let stream = ArchiveReader.from(context)?.stream as? SourceStream else { return -1 }
  // SEEK_SET, SEEK_CUR and SEEK_END of <stdio.h>.
  let base: Int64 = whence == 0 ? 0 : whence == 1 ? stream.offset : stream.length
  let (target, overflow) = base.addingReportingOverflow(offset)
  guard !overflow, target >= 0 else { return -1 }
  stream.seek(to: target)
  return stream.offset
}

/// The header of an archive's entry; the values are not checked.
struct ArchiveEntry {
  /// The raw bytes of the path; nil if missing.
  let path: [UInt8]?
  let kind: Kind
  /// Permission bits with setuid, setgid and sticky, 0 to 0o7777.
  let permissions: UInt32
  /// The length of the data in bytes, or nil if the archive does not record it.
  let size: Int64?

  enum Kind: Hashable {
    case file, directory
    case link(target: [UInt8])
    case hardLink(to: [UInt8])
    /// An unsupported type, in words.
    case other(String)
  }
}
