import Foundation
import Glibc

/// nginx on a free loopback port, serving a folder.
///
/// The last reference ends it.
///
/// It is an independent server, in addition to our own. Tests that need it are skipped with a
/// message if it is not installed.
package final class Nginx: Sendable {
  /// Whether nginx is installed.
  package static let isInstalled = program != nil
  /// The comment of a skipped test.
  package static let reason = "nginx is not installed: apt-get install nginx-light"

  private static let program = ServerProcess.path(of: "nginx")

  /// The port on 127.0.0.1.
  package var port: Int { reserved.number }
  private let reserved: ReservedPort
  private let folder: TemporaryFolder
  private let process: ServerProcess

  /// Serves `root`.
  ///
  /// `directives` are added to its `server` block, `listen` is added after the port, such as `ssl
  /// http2`, and `zones` come before the block.
  package convenience init(
    serving root: String, listen: String = "", zones: String = "", directives: String = ""
  ) throws {
    try self.init(zones: zones) { port in
      """
      server {
        listen 127.0.0.1:\(port) \(listen);
        root \(root);
        \(directives)
      }
      """
    }
  }

  /// Runs with the `server` block that `server` returns for a port, after `zones`.
  package init(zones: String = "", server: (_ port: Int) -> String) throws {
    guard let program = Self.program else { throw ChildProcess.Failure(Self.reason) }
    folder = try TemporaryFolder()
    reserved = try ReservedPort()
    let configuration = Self.configuration(folder.path, zones, server(reserved.number))
    try Data(configuration.utf8).write(to: URL(filePath: folder.path("nginx.conf")))
    let words = [
      program, "-c", folder.path("nginx.conf"), "-e", folder.path("error.log"), "-p", folder.path,
    ]
    guard let process = ServerProcess(words, port: reserved.number) else {
      let log = try? String(contentsOfFile: folder.path("error.log"), encoding: .utf8)
      throw ChildProcess.Failure(log ?? "no error.log")
    }
    self.process = process
  }

  /// Returns the URL of `path`, which starts with a slash.
  package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The logged requests so far, one line each.
  package func requests() -> [String] {
    let log = try? String(contentsOfFile: folder.path("access.log"), encoding: .utf8)
    return log.map { $0.split(separator: "\n").map(String.init) } ?? []
  }

  private static func configuration(
    _ folder: String, _ zones: String, _ server: String
  ) -> String {
    """
    daemon off;
    worker_processes 1;
    pid \(folder)/nginx.pid;
    error_log \(folder)/error.log;
    \(geteuid() == 0 ? "user root;" : "")
    events { worker_connections 512; }
    http {
      log_format short '$request|$http_range|$status|$body_bytes_sent|$connection';
      access_log \(folder)/access.log short;
      client_body_temp_path \(folder)/body;
      proxy_temp_path \(folder)/proxy;
      fastcgi_temp_path \(folder)/fastcgi;
      uwsgi_temp_path \(folder)/uwsgi;
      scgi_temp_path \(folder)/scgi;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 100000;
      \(zones)
      \(server)
    }
    """
  }
}
