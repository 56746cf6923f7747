import Foundation
import Locks

/// A program that was built beside the tests.
package enum Program {
  /// Where it is.
  package static func path(_ name: String) -> String {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: tests).deletingLastPathComponent().appending(path: name)
      .path(percentEncoded: false)
  }

  /// How a run ended.
  package struct End: Sendable {
    /// The exit status, or the number of the signal.
    package let status: Int32
    package let wasKilled: Bool
    /// Standard output and standard error.
    package let output: String
  }

  /// Runs a program to its end; blocks.
  package static func run(_ path: String, _ words: [String]) throws -> End {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = words
    process.standardInput = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return End(
      status: process.terminationStatus,
      wasKilled: process.terminationReason == .uncaughtSignal,
      output: String(decoding: output, as: UTF8.self))
  }
}
