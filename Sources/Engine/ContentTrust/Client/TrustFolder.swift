import ContentModel
import Digests
import FileIO
import FoundationEssentials
import Concurrency

/// The folder that keeps what was trusted, across runs; every write is durable.
struct TrustFolder: Sendable {
  private let folder: Directory
  /// Nil if the folder is written.
  private let readOnly: ReadOnly?
  /// Where it is, for messages.
  var path: String { folder.path }
  private static let refreshName = "last-refresh.json"

  /// A folder that stays as it is: writes do nothing.
  private final class ReadOnly: Sendable {
    /// Whether timestamp and snapshot count as removed.
    let isWithdrawn = Atomic(false)
  }

  init(_ folder: Directory, isReadOnly: Bool = false) {
    self.folder = folder
    readOnly = isReadOnly ? ReadOnly() : nil
  }

  /// The trusted metadata `name`; nil when there is none or it is longer than it may be.
  func metadata(_ name: MetadataName) throws -> [UInt8]? {
    if [.timestamp, .snapshot].contains(name),
      readOnly?.isWithdrawn.load(ordering: .relaxed) == true
    {
      return nil
    }
    do {
      return try folder.contents(of: name.encodedFileName, limit: name.limit)
    } catch let error as ContentError where [.fileMissing, .limitExceeded].contains(error.code) {
      return nil
    }
  }

  /// Where the metadata `name` is kept, for messages.
  func path(of name: MetadataName) -> String { folder.path(of: name.encodedFileName) }

  func replace(_ name: MetadataName, with bytes: [UInt8]) throws {
    guard readOnly == nil else { return }
    try folder.replaceFile(name.encodedFileName, with: bytes)
  }

  /// Forgets timestamp and snapshot, durably.
  func withdrawTimestampAndSnapshot() throws {
    if let readOnly { return readOnly.isWithdrawn.store(true, ordering: .relaxed) }
    try folder.removeFile(RoleName.timestamp.fileName)
    try folder.removeFile(RoleName.snapshot.fileName)
    try folder.sync()
  }

  // MARK: The last refresh

  /// A given root that was found to be connected to a trusted one.
  struct RootLink: Equatable {
    /// SHA-256 of the file that was given.
    let given: Digest
    /// `TrustedMetadata.rootDigest` of the trusted root.
    let trusted: Digest
  }

  private struct LastRefresh {
    let time: Date
    let link: RootLink?
  }

  /// Throws `clockWentBackwards` when `now` lies more than an hour before the last refresh.
  func checkClock(now: Date) throws {
    guard let last = try lastRefresh()?.time, now < last.addingTimeInterval(-3600) else { return }
    throw ContentError(
      .clockWentBackwards,
      "The system clock says \(now.metadataText), but the catalog was refreshed at "
        + last.metadataText,
      remedy: "Set the clock; if it is right now and was wrong then, remove "
        + folder.path(of: Self.refreshName),
      subject: folder.path(of: Self.refreshName))
  }

  /// Whether the last refresh found `link`.
  func knows(_ link: RootLink) throws -> Bool { try lastRefresh()?.link == link }

  /// Remembers a refresh at `now`, and `link` unless it is nil.
  ///
  /// A record of the last ten minutes is left as it is if there is no news: a sync costs more than
  /// the accuracy is worth.
  func recordRefresh(now: Date, _ link: RootLink?) throws {
    guard readOnly == nil else { return }
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

  private func lastRefresh() throws -> LastRefresh? {
    do {
      let bytes = try folder.contents(of: Self.refreshName, limit: 4096)
      // A record that cannot be read protects from nothing; the next refresh writes a new one.
      let record = try? JSONValue(parsing: bytes)
      func digest(_ name: String) -> Digest? { record?[name]?.string.flatMap(Digest.init(hex:)) }
      guard let time = record?["refreshed"]?.string.flatMap(Date.init(metadataText:)) else {
        return nil
      }
      var link: RootLink?
      if let given = digest("givenRoot"), let trusted = digest("trustedRoot") {
        link = RootLink(given: given, trusted: trusted)
      }
      return LastRefresh(time: time, link: link)
    } catch let error as ContentError where [.fileMissing, .limitExceeded].contains(error.code) {
      return nil
    }
  }
}
