import Foundation
import HostedTestSupport
import Testing

/// Independent implementations in Python, fetched from PyPI once.
enum PythonPeers {
  /// The interpreter with these packages, or the reason why it is missing.
  static let python: Result<String, Missing> = found()

  struct Missing: Error {
    let reason: String
  }

  static var areHere: Bool { if case .success = python { true } else { false } }

  /// The reason for skipping tests.
  static var reason: Comment {
    guard case .failure(let missing) = python else { return "The Python packages are installed" }
    return "NOT TESTED against independent implementations: \(missing.reason)"
  }

  private static func found() -> Result<String, Missing> {
    do {
      let (status, output, errors) = try run(SourceTree.path("Scripts/python-peers"), [])
      guard status == 0 else { return .failure(Missing(reason: errors)) }
      return .success(output.trimmingCharacters(in: .whitespacesAndNewlines))
    } catch {
      return .failure(Missing(reason: "\(error)"))
    }
  }

  /// Runs a script of Tests/Interoperation and returns its output.
  ///
  /// A failure fails the test.
  @discardableResult
  static func script(_ name: String, _ words: [String], input: String = "") throws -> String {
    let script = SourceTree.path("Tests/Interoperation/\(name)")
    let (status, output, errors) = try run(python.get(), ["-B", script] + words, input: input)
    #expect(status == 0, "\(name): \(output)\(errors)")
    return output
  }

  private static func run(_ program: String, _ words: [String], input: String = "") throws
    -> (status: Int32, output: String, errors: String)
  {
    let folder = try TemporaryFolder()
    let files = ["input", "output", "errors"].map { folder.path($0) }
    try Data(input.utf8).write(to: URL(filePath: files[0]))
    let process = try ChildProcess(
      program, words, input: files[0], output: files[1], errors: files[2])
    return (
      process.terminationStatus, try String(contentsOfFile: files[1], encoding: .utf8),
      try String(contentsOfFile: files[2], encoding: .utf8)
    )
  }
}
