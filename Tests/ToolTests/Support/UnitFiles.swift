import HostedTestSupport
import Testing

/// Unit files of systemd, which `systemd-analyze` checks.
enum UnitFiles {
  /// Whether the checker is installed.
  static let canBeChecked = program != nil
  /// The comment of a skipped test.
  static let reason = "systemd-analyze is not installed: apt-get install systemd"
  private static let program = ServerProcess.path(of: "systemd-analyze")

  /// Expects that systemd accepts units, given as texts by file name.
  static func check(_ units: [String: String], _ tool: Tool) throws {
    for (name, text) in units { try tool.write(text, to: name) }
    let paths = units.keys.sorted().map { tool.folder.path($0) }
    let result = try tool.run(["verify", "--man=no"] + paths, program: #require(program))
    #expect(result.status == 0 && result.output == "" && result.errors == "", "\(result.errors)")
  }
}
