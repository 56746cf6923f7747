import HostedModel
import Foundation
import Glibc
import HostedTestSupport

/// `hostedcontent store-server run` as a process, which ends with the last reference.
final class ToolServer {
  let url: URL
  private let process: ChildProcess

  /// Starts `tool`, and waits until it listens.
  init(_ tool: String, _ sample: SampleLedger) throws {
    let output = "\(sample.path)/server.out"
    process = try ChildProcess(
      tool,
      ["store-server", "run", sample.store, "--data", "\(sample.path)/data"]
        + ["--listen", "127.0.0.1:0"], output: output, errors: "\(sample.path)/server.err")
    process.wait { Self.text(output).hasSuffix("\n") }
    guard let url = URL(string: Self.text(output).trimmingCharacters(in: .newlines)),
      url.scheme == "http"
    else {
      throw ContentError(
        .cannotListen, "The store server did not start: \(Self.text("\(sample.path)/server.err"))",
        remedy: "Start it manually")
    }
    self.url = url
  }

  deinit {
    process.kill(SIGTERM)
    process.waitUntilExit()
  }

  private static func text(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }

  /// The processor time that it has used, from /proc/PID/stat (proc(5)).
  var processorSeconds: Double {
    get throws {
      let path = "/proc/\(process.processIdentifier)/stat"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      // The name in parentheses may contain spaces. User and system time are fields 14 and 15.
      let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
      let ticks = fields.dropFirst(12).prefix(2).compactMap { Double($0) }.reduce(0, +)
      return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
  }
}
