import FileIO
import FoundationEssentials

/// The file in which a checker's memory survives restarts; after a crash it is the old or the new.
struct UpdateMemoryFile: Sendable {
  static let name = "app-update.json"
  /// The most that is read; what is written stays far below it.
  static let limit: Int64 = 2 << 20

  private let folder: Directory

  private struct Document: Codable {
    var format = 1
    let memory: UpdateMemory
  }

  /// Opens the folder at `path`, creating it where it is missing.
  init(folder path: String, fileSystem: FileSystem) throws {
    folder = try fileSystem.directory(at: path, creating: true)
  }

  /// What was saved last; an empty memory when nothing was.
  ///
  /// A file that cannot be read is set aside under another name, and the memory begins anew: the
  /// error says so, and the next foreground looks at once.
  func load() -> (UpdateMemory, ContentError?) {
    do {
      let bytes = try folder.contents(of: Self.name, limit: Self.limit)
      let document = try JSONDecoder().decode(Document.self, from: Data(bytes))
      guard document.format == 1 else {
        return (UpdateMemory(), setAside("format \(document.format) is unknown"))
      }
      return (document.memory, nil)
    } catch let error as ContentError where error.code == .fileMissing {
      return (UpdateMemory(), nil)
    } catch {
      return (UpdateMemory(), setAside("\(error)"))
    }
  }

  /// Writes `memory` down, durably.
  func save(_ memory: UpdateMemory) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = try encoder.encode(Document(memory: memory))
    try folder.replaceFile(Self.name, with: Array(bytes), mode: 0o600)
  }

  private func setAside(_ cause: String) -> ContentError {
    // It can stay where it is; the next save replaces it.
    try? folder.rename(Self.name, to: folder, "\(Self.name).damaged")
    return ContentError(
      .updateMemoryDamaged,
      "\(folder.path(of: Self.name)) cannot be read; skipped versions and reminders are forgotten",
      remedy: "Nothing needs to be done; the app is looked up again at the next foreground",
      subject: folder.path(of: Self.name), cause: cause.printable(limit: 300))
  }
}
