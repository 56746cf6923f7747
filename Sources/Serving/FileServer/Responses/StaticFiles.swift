import HostedHTTPValues
import HostedModel
import HostedFileIO

/// The public files of a folder.
struct StaticFiles: Sendable {
  private let folder: Directory

  private static let longestName = 255

  init(_ folder: Directory) { self.folder = folder }

  /// Returns the file at `location`, or an error response.
  ///
  /// Each step opens one name relative to an open folder, without following links, so files outside
  /// of the folder cannot be reached. Names that begin with a dot are hidden. Top-level names that
  /// end in `.keys` are hidden too: they are signing keys, if the parent of a store is served by
  /// mistake. Bytes count: with a combining mark, a dot is another `Character`.
  func representation(at location: RequestLocation) -> Result<
    Representation, HTTPResponse<ServedBody>
  > {
    guard let name = location.components.last,
      location.components.first?.utf8.suffix(5).elementsEqual(".keys".utf8) == false,
      location.components.allSatisfy(Self.isOffered)
    else { return .failure(.notFound) }
    do {
      let folder = try folder.directory(at: location.components.dropLast())
      // Only regular files may be opened; opening a device or FIFO can have effects.
      guard try folder.status(of: name)?.kind == .file else { return .failure(.notFound) }
      let file = try OpenedFile(folder.file(name))
      guard file.status.kind == .file else { return .failure(.notFound) }
      return .success(Representation(file, name: name))
    } catch {
      return .failure(
        Self.refusal(ContentError(error, while: "opening a file"), location, folder))
    }
  }

  private static func isOffered(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.first != UInt8(ascii: ".") && name.utf8.count <= longestName
  }

  /// The response if the file cannot be opened.
  private static func refusal(
    _ error: ContentError, _ location: RequestLocation, _ folder: Directory
  ) -> HTTPResponse<ServedBody> {
    switch error.code {
    case .fileMissing: return .notFound
    case .notPermitted:
      return HTTPResponse(403, text: "The server is not permitted to read the file.")
    case .tooManyFiles:
      var busy = HTTPResponse(503, text: "The server has too many open files.")
      busy.headers["Retry-After"] = "1"
      return busy
    default:
      return hasLink(location, folder)
        ? .notFound : HTTPResponse(500, text: "The server cannot read the file.")
    }
  }

  /// Whether a component is a link, which is the cause of most other failures.
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

/// The failure of `StaticFiles`.
extension HTTPResponse<ServedBody>: Error {}
