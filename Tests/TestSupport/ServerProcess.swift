import Foundation
import Glibc

/// A server of another project as a separate process.
///
/// The last reference ends it.
package final class ServerProcess: Sendable {
  private let process: ChildProcess

  /// Starts `words`, the program's path and its arguments, and waits until `port` answers.
  ///
  /// Returns nil if the process ends before that. What it prints is in the file `output`.
  package init?(_ words: [String], port: Int, output: String = "/dev/null") {
    guard let process = try? ChildProcess(words[0], Array(words.dropFirst()), output: output)
    else { return nil }
    process.wait { Loopback.answers(on: port) }
    guard process.isRunning else { return nil }
    self.process = process
  }

  deinit {
    process.kill(SIGTERM)
    process.waitUntilExit()
  }

  /// Returns the path of the program `name`, or nil if it is not installed.
  package static func path(of name: String) -> String? {
    ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/bin"].map { "\($0)/\(name)" }
      .first { access($0, X_OK) == 0 }
  }
}

/// The web server of busybox on a free loopback port.
///
/// The type of all files is `text/html`.
package final class BusyboxServer: Sendable {
  /// Whether busybox is installed.
  package static let isInstalled = program != nil
  /// The comment of a skipped test.
  package static let reason = "busybox is not installed: apt-get install busybox"
  private static let program = ServerProcess.path(of: "busybox")

  private let port: ReservedPort
  private let process: ServerProcess

  /// Serves `root`.
  package init(serving root: String) throws {
    port = try ReservedPort()
    let address = "127.0.0.1:\(port.number)"
    guard let program = Self.program,
      let process = ServerProcess(
        [program, "httpd", "-f", "-p", address, "-h", root], port: port.number)
    else { throw ChildProcess.Failure(Self.reason) }
    self.process = process
  }

  /// The URL of its root.
  package var url: String { "http://127.0.0.1:\(port.number)/" }
}

/// Squid, a caching proxy, on a free loopback port.
package final class Squid: Sendable {
  /// Whether Squid is installed.
  package static let isInstalled = program != nil
  /// The comment of a skipped test.
  package static let reason = "Squid is not installed: apt-get install squid"
  private static let program = ServerProcess.path(of: "squid")

  private let port: ReservedPort
  private let folder: TemporaryFolder
  private let process: ServerProcess

  /// Starts Squid.
  ///
  /// `access` contains the access rules, and may add other directives.
  package init(access: String = "http_access allow all") throws {
    port = try ReservedPort()
    folder = try TemporaryFolder()
    // Without files of its own, since it drops its privileges first if it runs as root.
    let configuration = """
      http_port 127.0.0.1:\(port.number)
      pid_filename none
      access_log none
      cache_log /dev/null
      cache_store_log none
      coredump_dir /
      visible_hostname localhost
      cache_mem 32 MB
      negative_ttl 10 minutes
      shutdown_lifetime 0 seconds
      \(access)

      """
    try Data(configuration.utf8).write(to: URL(filePath: folder.path("squid.conf")))
    guard let program = Self.program else { throw ChildProcess.Failure(Self.reason) }
    let output = folder.path("output")
    // Also prints what its log would have.
    let words = [program, "-N", "-d", "1", "-f", folder.path("squid.conf")]
    guard let process = ServerProcess(words, port: port.number, output: output) else {
      let text = try? String(contentsOfFile: output, encoding: .utf8)
      throw ChildProcess.Failure("Squid ended before it answered: \(text ?? "no output")")
    }
    self.process = process
  }

  /// Its URL as a proxy.
  package var url: String { "http://127.0.0.1:\(port.number)" }
}
