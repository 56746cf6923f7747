import HostedModel

/// Sockets that systemd opens for a service (sd_listen_fds(3)).
package enum SocketActivation {
  /// The first descriptor that systemd passes.
  private static let first: Int32 = 3

  /// Returns the socket for the process with this number, or nil.
  ///
  /// Throws `usage` if there are several.
  package static func socket(_ environment: [String: String], process: Int32) throws -> Int32? {
    // A child process inherits the variables, but the sockets are not for it.
    guard environment["LISTEN_PID"] == "\(process)",
      let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count > 0
    else { return nil }
    guard count == 1 else {
      throw ContentError(
        .usage, "systemd passed \(count) sockets, expected 1",
        remedy: "Keep one ListenStream= in the socket unit")
    }
    return first
  }
}
