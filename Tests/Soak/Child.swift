import Foundation

/// A process that is started, killed and restarted.
///
/// Its output goes to a file.
final class Child {
  private let program: String
  private let words: [String]
  private let output: FileHandle
  private var process: Process?
  private(set) var kills = 0

  init(_ program: String, _ words: [String], output path: String) throws {
    self.program = program
    self.words = words
    if !FileManager.default.fileExists(atPath: path) {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
    }
    output = try FileHandle(forWritingTo: URL(filePath: path))
    try output.seekToEnd()
  }

  var identifier: Int32 { process?.processIdentifier ?? 0 }

  var isRunning: Bool { process?.isRunning ?? false }

  func start() throws {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = words
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    self.process = process
  }

  /// Kills it.
  ///
  /// Returns true if it was still running.
  func kill() -> Bool {
    guard let process, process.isRunning else { return false }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    kills += 1
    return true
  }

  /// Asks it to stop, and waits.
  ///
  /// Returns its exit status, or nil if it was killed after a timeout.
  func stop(seconds: Double) -> Int32? {
    guard let process else { return nil }
    Foundation.kill(process.processIdentifier, SIGTERM)
    let start = ContinuousClock.now
    while process.isRunning, ContinuousClock.now - start < .seconds(seconds) { usleep(20_000) }
    guard !process.isRunning else {
      _ = kill()
      return nil
    }
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : nil
  }
}
