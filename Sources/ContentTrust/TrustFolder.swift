import ContentModel
import FileIO
import FoundationEssentials

/// The folder that keeps what was trusted, across runs; every write is durable.
struct TrustFolder: Sendable {
  private let folder: Directory
  private static let refreshName = "last-refresh.json"

  init(_ folder: Directory) { self.folder = folder }

  /// The trusted metadata `name`; nil when there is none or it is longer than it may be.
  func metadata(_ name: MetadataName) throws -> [UInt8]? {
    do {
      return try folder.contents(of: name.encodedFileName, limit: name.limit)
    } catch let error as ContentError where [.fileMissing, .limitExceeded].contains(error.code) {
      return nil
    }
  }

  /// Where the metadata `name` is kept, for messages.
  func path(of name: MetadataName) -> String { folder.path(of: name.encodedFileName) }

  func replace(_ name: MetadataName, with bytes: [UInt8]) throws {
    try folder.replaceFile(name.encodedFileName, with: bytes)
  }

  /// Forgets timestamp and snapshot, durably.
  func withdrawTimestampAndSnapshot() throws {
    try folder.removeFile(RoleName.timestamp.fileName)
    try folder.removeFile(RoleName.snapshot.fileName)
    try folder.sync()
  }

  // MARK: The last refresh

  /// Throws `clockWentBackwards` when `now` lies more than an hour before the last refresh.
  func checkClock(now: Date) throws {
    guard let last = try lastRefresh(), now < last.addingTimeInterval(-3600) else { return }
    throw ContentError(
      .clockWentBackwards,
      "The system clock says \(now.metadataText), but the catalogue was refreshed at "
        + last.metadataText,
      remedy: "Set the clock; if it is right now and was wrong then, remove "
        + folder.path(of: Self.refreshName),
      subject: folder.path(of: Self.refreshName))
  }

  /// Remembers a refresh at `now`; a record of the last ten minutes is left as it is, since a sync
  /// costs more than the accuracy is worth.
  func recordRefresh(now: Date) throws {
    if let last = try lastRefresh(), (last...last.addingTimeInterval(600)).contains(now) { return }
    let record = JSONValue.object(["refreshed": .string(now.metadataText)])
    try folder.replaceFile(Self.refreshName, with: record.encoded)
  }

  private func lastRefresh() throws -> Date? {
    do {
      let bytes = try folder.contents(of: Self.refreshName, limit: 4096)
      // A record that cannot be read protects from nothing; the next refresh writes a new one.
      let text = (try? JSONValue(parsing: bytes))?["refreshed"]?.string
      return text.flatMap(Date.init(metadataText:))
    } catch let error as ContentError where [.fileMissing, .limitExceeded].contains(error.code) {
      return nil
    }
  }
}
