import Foundation

/// Services that install, update, verify, repair and collect, while servers and processes fail.
///
/// Usage: `soak --seconds N [--seed S]`. The exit status is 1 if a promise was broken or resource
/// usage grew. Other arguments are for processes that it starts itself.
@main
enum Soak {
  static func main() async throws {
    signal(SIGPIPE, SIG_IGN)
    let words = Array(CommandLine.arguments.dropFirst())
    if words.first == "service", words.count == 6 {
      exit(try await Service(Array(words.dropFirst())).run() ? 0 : 1)
    }
    let seconds = value("--seconds", words).flatMap { Double($0) } ?? 60
    let seed = value("--seed", words).flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
    say("soak: \(Int(seconds)) s, seed \(seed)")
    let broken = try Coordinator(seed: seed).run(seconds: seconds)
    for line in broken { say("BROKEN: \(line)") }
    say(broken.isEmpty ? "soak: nothing broken" : "soak: \(broken.count) promises broken")
    exit(broken.isEmpty ? 0 : 1)
  }

  private static func value(_ name: String, _ words: [String]) -> String? {
    guard let place = words.firstIndex(of: name), place + 1 < words.count else { return nil }
    return words[place + 1]
  }
}

/// Writes at once, even to a file, so that a killed process loses no output.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
