package import FoundationEssentials

extension URL {
  /// Returns the path of a file URL without a slash at its end; throws `usage` for other URLs.
  ///
  /// `what` names the file or folder in the error, such as “library”.
  package func filePath(of what: String) throws -> String {
    guard isFileURL else {
      throw ContentError(
        .usage, "“\(absoluteString.printable(limit: 200))” is not a file URL",
        remedy: "Give the \(what) as a file URL, such as URL(filePath:) creates",
        subject: absoluteString)
    }
    let path = path(percentEncoded: false)
    return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}
