import HostedModel
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedConcurrency

/// The folder that keeps the trusted metadata and the records of products across runs.
///
/// Every write is durable unless its documentation says otherwise.
final class TrustFolder: Sendable {
  private let folder: Directory
  private let isReadOnly: Bool
  /// Whether timestamp and snapshot of a read-only folder count as removed.
  private let isWithdrawn = Atomic(false)
  // Snapshots of different refreshes may keep the same file at the same time.
  private let writes = KeyedLock<String>()
  var path: String { folder.path }
  private static let refreshName = "last-refresh.json"

  /// Writes to a read-only folder have no effect.
  init(_ folder: Directory, isReadOnly: Bool) {
    self.folder = folder
    self.isReadOnly = isReadOnly
  }

  /// Returns the trusted metadata `name`; nil if it does not exist or is too long.
  ///
  /// Throws `metadataDamaged` for a root that is too long, because without a stored root, any root
  /// that the caller gives would be trusted.
  func metadata(_ name: MetadataName) throws -> [UInt8]? {
    if [.timestamp, .snapshot].contains(name), isWithdrawn.load(ordering: .relaxed) { return nil }
    guard keeps(name) else { return nil }
    do {
      return try nilIf(.fileMissing) {
        try folder.contents(of: name.encodedFileName, limit: name.limit)
      }
    } catch let error as ContentError where error.code == .limitExceeded {
      guard name == .root else { return nil }
      throw ContentError.metadataTooLong(name, limit: name.limit)
    }
  }

  /// Whether `name` is stored: the file of a role `last-refresh` would replace another file.
  private func keeps(_ name: MetadataName) -> Bool { name.encodedFileName != Self.refreshName }

  func path(of name: MetadataName) -> String { folder.path(of: name.encodedFileName) }

  /// Writes the metadata `name`.
  ///
  /// The write of a delegated role is not durable: a lost or incomplete file is fetched again.
  func replace(_ name: MetadataName, with bytes: [UInt8]) throws {
    guard !isReadOnly, keeps(name) else { return }
    let isDurable = if case .top = name { true } else { false }
    try writes.withLock(for: name.encodedFileName) {
      try folder.replaceFile(name.encodedFileName, with: bytes, isDurable: isDurable)
    }
  }

  // MARK: Records

  private static let recordsName = "records"

  private static func recordName(_ product: ProductIdentifier) -> String { "\(product).json" }

  /// Returns the kept record of `product`, which is not verified; nil if none is kept.
  func record(of product: ProductIdentifier) throws -> [UInt8]? {
    try nilIf(.fileMissing, .limitExceeded) {
      try folder.directory(Self.recordsName).contents(
        of: Self.recordName(product), limit: CatalogRecord.maximumLength)
    }
  }

  /// Keeps the record of `product`, so that the next run does not fetch it again.
  ///
  /// Not durable: a lost or incomplete file is fetched again.
  func replaceRecord(of product: ProductIdentifier, with bytes: [UInt8]) throws {
    if isReadOnly { return }
    let records = try folder.createDirectory(Self.recordsName)
    try writes.withLock(for: "\(Self.recordsName)/\(product)") {
      try records.replaceFile(Self.recordName(product), with: bytes, isDurable: false)
    }
  }

  /// Removes timestamp and snapshot; the removal is durable.
  func withdrawTimestampAndSnapshot() throws {
    if isReadOnly { return isWithdrawn.store(true, ordering: .relaxed) }
    try folder.removeFile(RoleName.timestamp.fileName)
    try folder.removeFile(RoleName.snapshot.fileName)
    try folder.sync()
  }

  // MARK: The last refresh

  /// A given root and a trusted root that are connected.
  struct RootLink: Equatable {
    /// SHA-256 of the given file.
    let given: Digest
    /// `TrustedMetadata.rootDigest` of the trusted root.
    let trusted: Digest
  }

  /// Throws `clockWentBackwards` if `now` is more than an hour before the last refresh.
  func checkClock(now: Date) throws {
    guard let last = try lastRefresh()?.time, now < last.addingTimeInterval(-3600) else { return }
    throw ContentError(
      .clockWentBackwards,
      "The system clock is at \(now.metadataText), but the catalog was refreshed at "
        + last.metadataText,
      remedy: "Correct the system clock. If it is correct now and was wrong then, remove "
        + folder.path(of: Self.refreshName),
      subject: folder.path(of: Self.refreshName))
  }

  /// Whether the last refresh found `link`.
  func knows(_ link: RootLink) throws -> Bool { try lastRefresh()?.link == link }

  /// Records a refresh at `now`, and `link` unless it is nil.
  ///
  /// If the link is the same and the last record is at most ten minutes old, the record is not
  /// changed: the accuracy is not worth a sync.
  func recordRefresh(now: Date, _ link: RootLink?) throws {
    if isReadOnly { return }
    let last = try lastRefresh()
    let link = link ?? last?.link
    if let last, last.link == link, (last.time...last.time.addingTimeInterval(600)).contains(now) {
      return
    }
    var record: [String: JSONValue] = ["refreshed": .string(now.metadataText)]
    record["givenRoot"] = link.map { .string($0.given.hex) }
    record["trustedRoot"] = link.map { .string($0.trusted.hex) }
    try folder.replaceFile(Self.refreshName, with: JSONValue.object(record).encoded)
  }

  private func lastRefresh() throws -> (time: Date, link: RootLink?)? {
    try nilIf(.fileMissing, .limitExceeded) {
      let bytes = try folder.contents(of: Self.refreshName, limit: 4096)
      // An unreadable record gives no protection. The next refresh replaces it.
      let record = try? JSONValue(parsing: bytes)
      func digest(_ name: String) -> Digest? { record?[name]?.string.flatMap(Digest.init(hex:)) }
      guard let time = record?["refreshed"]?.string.flatMap(Date.init(metadataText:)) else {
        return nil
      }
      var link: RootLink?
      if let given = digest("givenRoot"), let trusted = digest("trustedRoot") {
        link = RootLink(given: given, trusted: trusted)
      }
      return (time, link)
    }
  }
}
