import HostedConcurrency
import Foundation
import HostedTestSupport
import Testing

/// A folder with a store that is created once per process, and copied for each test.
///
/// All copies have the same keys. A test that needs other keys creates another store.
final class StoreTemplate: Sendable {
  static let empty = StoreTemplate { try $0.succeed("store", "init", "store") }

  static let book = StoreTemplate(from: empty) { tool in
    try tool.succeed(
      "store", "publish", "store", Tool.sample("chapter1-1.0.pkg"), Tool.sample("chapter2-1.0.pkg"))
  }

  static let course = StoreTemplate(from: empty) { tool in
    try tool.succeed(
      "store", "publish", "store", Tool.sample("chapter1-1.0.pkg"), Tool.sample("course-1.0.pkg"),
      Tool.sample("course-audio-1.0.pkg"))
    try tool.succeed("store", "add", "store", Tool.club, "--title", "Club")
  }

  /// The book, and a key in `data` with the usual scopes, whose token is in the file `token`.
  static let shop = StoreTemplate(from: book) { try $0.addKey() }

  private let tool: Result<Tool, any Error>

  private init(from base: StoreTemplate? = nil, _ prepare: (Tool) throws -> Void) {
    _ = StoreTemplate.removal
    tool = Result {
      let tool = try base?.copy() ?? Tool()
      try prepare(tool)
      StoreTemplate.folders.withLock { $0.append(tool.folder.path) }
      return tool
    }
  }

  /// Returns a tool in a copy of the folder.
  func copy() throws -> Tool {
    let copy = try Tool()
    let end = try Program.run("/bin/cp", ["-a", "\(tool.get().folder.path)/.", copy.folder.path])
    try #require(end.status == 0, "\(end.output)")
    return copy
  }

  // A value of a static property is not released at the exit.
  private static let folders = Mutex<[String]>([])
  private static let removal = atexit {
    for path in StoreTemplate.folders.withLock({ $0 }) {
      try? FileManager.default.removeItem(atPath: path)
    }
  }
}
