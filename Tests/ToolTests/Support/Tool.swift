import Foundation
import HostedTestSupport
import Testing

/// The built tool as a process.
struct Tool: Sendable {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The tool that was built with the tests.
  static let path = program("hostedcontent")

  /// A program that was built with the tests.
  static func program(_ name: String) -> String { Program.path(name) }

  /// The result of a run.
  struct Result: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// The output, parsed as JSON.
    func json() throws -> [String: Any] {
      try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    }
  }

  /// Runs the tool in the folder with `input` as its standard input, and waits for its end.
  @discardableResult
  func run(_ words: String..., input: String = "") throws -> Result {
    try run(words, input: input)
  }

  @discardableResult
  func run(
    _ words: [String], input: String = "", program: String = Self.path,
    environment: [String: String] = [:]
  ) throws -> Result {
    let files = ["input", "output", "errors"].map { folder.path(".\($0)-\(UUID().uuidString)") }
    defer { files.forEach { try? FileManager.default.removeItem(atPath: $0) } }
    if !input.isEmpty { try Data(input.utf8).write(to: URL(filePath: files[0])) }
    let process = try start(
      words, input: input.isEmpty ? nil : files[0], output: files[1], errors: files[2],
      program: program, environment: environment)
    let status = process.waitUntilExit().status
    let texts = try files[1...].map { try String(contentsOfFile: $0, encoding: .utf8) }
    return Result(status: status, output: texts[0], errors: texts[1])
  }

  /// Starts the tool in the folder.
  func start(
    _ words: [String], input: String? = nil, output: String? = nil, errors: String? = nil,
    program: String = Self.path, environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(
      program, words, environment: environment, folder: folder.path, input: input ?? "/dev/null",
      output: output ?? "/dev/null", errors: errors ?? "/dev/null")
  }

  /// Builds a package of `files` with the name `name-version.pkg`.
  func makePackage(_ name: String, _ version: String, _ files: [String: Data]) throws -> String {
    let source = folder.path("sources/\(name)-\(version)")
    for (path, bytes) in files {
      let url = URL(filePath: "\(source)/Contents/\(path)")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try bytes.write(to: url)
    }
    let output = "\(name)-\(version).pkg"
    let result = try run(
      "package", source, "--output", output, "--product", name, "--content-version", version)
    #expect(result.status == 0, "\(result.errors)")
    return output
  }
}
