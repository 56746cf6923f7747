import HostedFileIO
import FoundationEssentials

/// The file for a checker's state; after a crash, it has the old or the new state.
struct UpdateMemoryFile: Sendable {
  static let name = "app-update.json"
  /// The maximum size to read.
  ///
  /// Written files are much smaller.
  static let limit: Int64 = 2 << 20

  private let folder: Directory

  private struct Document: Codable {
    var format = 1
    let memory: UpdateMemory
  }

  /// Opens the folder at `path`, and creates it if it does not exist.
  init(folder path: String, fileSystem: FileSystem) throws {
    folder = try fileSystem.directory(at: path, creating: true)
  }

  /// Returns the saved state; an empty state if nothing was saved.
  ///
  /// An invalid file is renamed, and the state starts empty. The returned error says so, and the
  /// next foreground checks at once. Throws file errors: a file that cannot be read may have a
  /// forced update, so it is not changed.
  func load() throws -> (UpdateMemory, ContentError?) {
    let bytes: [UInt8]
    do {
      bytes = try folder.contents(of: Self.name, limit: Self.limit)
    } catch let error as ContentError where error.code == .fileMissing {
      return (UpdateMemory(), nil)
    } catch let error as ContentError where error.code == .limitExceeded {
      return (UpdateMemory(), setAside(error.message))
    }
    do {
      let document = try JSONDecoder().decode(Document.self, from: Data(bytes))
      guard document.format == 1 else {
        return (UpdateMemory(), setAside("format \(document.format) is unknown"))
      }
      return (document.memory, nil)
    } catch {
      return (UpdateMemory(), setAside("\(error)"))
    }
  }

  /// Saves `memory`; the write is durable.
  func save(_ memory: UpdateMemory) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = try encoder.encode(Document(memory: memory))
    try folder.replaceFile(Self.name, with: Array(bytes), mode: 0o600)
  }

  private func setAside(_ cause: String) -> ContentError {
    // If the rename fails, the next save replaces the file.
    try? folder.rename(Self.name, to: folder, "\(Self.name).damaged")
    return ContentError(
      .updateMemoryDamaged,
      "Cannot read \(folder.path(of: Self.name)). Skipped versions and reminders are lost",
      remedy: "No action is needed. The app checks again at the next foreground",
      subject: folder.path(of: Self.name), cause: cause.printable(limit: 300))
  }
}
