import ContentModel
import FileIO

/// A folder's files as they are offered to everybody.
struct StaticFiles: Sendable {
  private let folder: Directory

  private static let longestName = 255

  init(_ folder: Directory) { self.folder = folder }

  /// The file at `location`, or the answer that says why there is none.
  ///
  /// Every step is one name relative to an open folder and follows no link, so nothing outside is
  /// reached. Names that begin with a dot are not offered, nor what ends in `.keys` at the top:
  /// there lie the signing keys when a store's parent is served by mistake.
  func representation(at location: RequestLocation) -> Result<Representation, Refusal> {
    guard let name = location.components.last,
      location.components.first?.hasSuffix(".keys") == false,
      location.components.allSatisfy(Self.isOffered)
    else { return .failure(.init(.notFound)) }
    do {
      let folder = try folder.directory(at: location.components.dropLast())
      // What is neither a file nor a folder must not even be opened.
      guard try folder.status(of: name)?.kind == .file else { return .failure(.init(.notFound)) }
      let file = try OpenedFile(folder.file(name))
      guard file.status.kind == .file else { return .failure(.init(.notFound)) }
      return .success(Representation(file, name: name))
    } catch {
      return .failure(
        Refusal(reading: ContentError(error, while: "opening a file"), location, folder))
    }
  }

  private static func isOffered(_ name: String) -> Bool {
    !name.isEmpty && !name.hasPrefix(".") && name.utf8.count <= longestName
  }

  /// The answer in place of a file.
  struct Refusal: Error {
    let answer: Answer

    init(_ answer: Answer) { self.answer = answer }

    init(reading error: ContentError, _ location: RequestLocation, _ folder: Directory) {
      switch error.code {
      case .fileMissing: answer = .notFound
      case .notPermitted: answer = Answer(403, text: "The server may not read this.")
      case .tooManyFiles:
        var busy = Answer(503, text: "The server has too many files open.")
        busy.set("Retry-After", "1")
        answer = busy
      default:
        let isLink = Self.hasLink(location, folder)
        answer = isLink ? .notFound : Answer(500, text: "The server cannot read this.")
      }
    }

    /// Whether a step of the way is a link, which is what most other failures come from.
    private static func hasLink(_ location: RequestLocation, _ folder: Directory) -> Bool {
      var folder = folder
      for name in location.components {
        if (try? folder.status(of: name))?.kind == .link { return true }
        guard let next = try? folder.directory(name) else { return false }
        folder = next
      }
      return false
    }
  }
}
