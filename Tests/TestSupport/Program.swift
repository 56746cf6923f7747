import Foundation

/// A program that was built with the tests.
package enum Program {
  /// Returns the path of the program.
  ///
  /// `Scripts/campaign` names a folder with programs that were built for release.
  package static func path(_ name: String) -> String {
    if let folder = ProcessInfo.processInfo.environment["HOSTEDCONTENT_PROGRAMS"] {
      let path = "\(folder)/\(name)"
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: tests).deletingLastPathComponent().appending(path: name)
      .path(percentEncoded: false)
  }

  /// The end of a run.
  package struct End: Sendable {
    /// The exit status, or the number of the signal.
    package let status: Int32
    package let wasKilled: Bool
    /// The text of standard output and standard error.
    package let output: String
  }

  /// Runs a program in `folder` until it ends, with the file `input` as its input.
  ///
  /// Blocks.
  package static func run(
    _ path: String, _ words: [String], environment: [String: String] = [:], folder: String? = nil,
    input: String = "/dev/null"
  ) throws -> End {
    let outputs = try TemporaryFolder()
    let output = outputs.path("output")
    let (reason, status) = try ChildProcess(
      path, words, environment: environment, folder: folder, input: input, output: output
    ).waitUntilExit()
    return End(
      status: status, wasKilled: reason == .uncaughtSignal,
      output: String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
  }
}
