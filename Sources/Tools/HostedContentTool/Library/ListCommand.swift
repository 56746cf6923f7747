import FoundationEssentials
import HostedContent

enum ListCommand {
  static let command = Command(
    name: "list", summary: "Lists installed versions.",
    options: [.library, .json], example: "hostedcontent list --library lib"
  ) { arguments, console in
    let library = try arguments.libraryReader()
    let entries = try library.checkedContents().map { entry, lacksFiles in
      Entry(
        contentIdentifier: entry.content.contentIdentifier, version: entry.content.version,
        current: entry.isCurrent, path: entry.path, bytes: entry.content.size,
        filesMissing: lacksFiles)
    }
    try console.print(["contents": entries]) {
      if entries.isEmpty { return console.print("Nothing is installed.") }
      console.print(
        table: entries.map {
          [
            $0.contentIdentifier.rawValue, $0.version.rawValue, $0.remarks, "\($0.bytes)", $0.path,
          ]
        }, heading: ["content", "version", "", "bytes", "path"])
    }
    return .done
  }

  private struct Entry: Encodable {
    let contentIdentifier: ProductIdentifier
    let version: ContentVersion
    let current: Bool
    let path: String
    let bytes: Int64
    /// Whether recorded files are missing, or have another kind or size; nil if unknown.
    let filesMissing: Bool?

    var remarks: String {
      ([current ? "current" : nil, filesMissing == true ? "files missing" : nil])
        .compactMap(\.self).joined(separator: ", ")
    }
  }
}

extension Arguments {
  func library() throws -> URL {
    URL(filePath: try required("--library"), directoryHint: .isDirectory)
  }

  func libraryReader() throws -> LibraryReader { try LibraryReader(library()) }
}
