import Foundation
import HostedTestSupport
import Testing

/// The system's gzip, as an independent decoder.
enum Gunzip {
  static func run(_ bytes: [UInt8]) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let (input, output) = (folder.path("input"), folder.path("output"))
    try Data(bytes).write(to: URL(filePath: input))
    let process = try ChildProcess("/bin/gzip", ["-dc"], input: input, output: output)
    #expect(process.terminationStatus == 0)
    return Array(try Data(contentsOf: URL(filePath: output)))
  }
}
