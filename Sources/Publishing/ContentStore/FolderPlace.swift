import HostedModel
import Glibc

struct FolderPlace {
  let parent: String
  let name: String

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Throws `usage` for a path without a last name, such as `/`.
  init(_ path: String) throws {
    var components = path.pathComponents()
    var isAbsolute = path.hasPrefix("/")
    if [".", ".."].contains(components.last), let resolved = resolvedComponents(path) {
      (components, isAbsolute) = (resolved, true)
    }
    guard let name = components.popLast(), name != ".", name != ".." else {
      throw ContentError(
        .usage, "“\(path)” does not name a folder",
        remedy: "Use a path that ends with the folder's name", subject: path)
    }
    let prefix = isAbsolute ? "/" : components.isEmpty ? "." : ""
    parent = prefix + components.joined(separator: "/")
    self.name = name
  }
}

/// The components of a path without symbolic links; nil if the file does not exist.
private func resolvedComponents(_ path: String) -> [String]? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved).pathComponents()
}

/// The components of a path without symbolic links; the file need not exist.
func realComponents(_ path: String) -> [String] {
  if let resolved = resolvedComponents(path) { return resolved }
  var rest = path.pathComponents()
  guard let last = rest.popLast() else { return [] }
  let parent = (path.hasPrefix("/") ? "/" : rest.isEmpty ? "." : "") + rest.joined(separator: "/")
  return realComponents(parent) + [last]
}
