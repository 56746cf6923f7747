import HostedModel
import HostedFileIO
import Glibc

/// Returns the duration of `body` in seconds.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  return (ContinuousClock.now - start) / .seconds(1)
}

/// Returns the CPU time of the whole process for `body`, in seconds.
func processorSeconds(_ body: () throws -> Void) rethrows -> Double {
  func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
  let start = now()
  try body()
  return now() - start
}

/// Returns a size of this process in MB, such as `VmRSS`, or `VmHWM` for the peak.
func memory(_ name: String) throws -> Double {
  guard let stream = fopen("/proc/self/status", "r") else { throw wrong("No /proc/self/status") }
  defer { fclose(stream) }
  for line in text(of: stream).split(separator: "\n") where line.hasPrefix("\(name):") {
    let words = line.split { $0 == " " || $0 == "\t" }
    if words.count == 3, let kibibytes = Double(words[1]) { return kibibytes * 1024 / 1e6 }
  }
  throw wrong("No \(name) in /proc/self/status")
}

/// Runs this program in a new process, and returns its output.
func ownProcess(_ words: [String]) throws -> String {
  guard let program = try FileSystem.real.directory(at: "/proc/self").link("exe") else {
    throw wrong("No /proc/self/exe")
  }
  let command = ([program] + words).map { "'\($0.replacing("'", with: "'\\''"))'" }
    .joined(separator: " ")
  guard let stream = popen("exec \(command)", "r") else { throw wrong("Cannot run \(command)") }
  let output = text(of: stream)
  guard pclose(stream) == 0 else { throw wrong("\(command) failed: \(output)") }
  return output
}

private func text(of stream: UnsafeMutablePointer<FILE>) -> String {
  var bytes: [UInt8] = []
  var block = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = fread(&block, 1, block.count, stream)
    guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
    bytes += block[..<count]
  }
}

/// Figures by name, each of one or more runs.
struct Figures {
  private struct Figure {
    let name: String
    let unit: String
    var values: [Double] = []
  }

  private var figures: [Figure] = []

  /// Adds the value of one run.
  mutating func add(_ name: String, _ value: Double, _ unit: String) {
    let known = figures.firstIndex { $0.name == name && $0.unit == unit }
    if known == nil { figures.append(Figure(name: name, unit: unit)) }
    figures[known ?? figures.count - 1].values.append(value)
  }

  /// Adds figures that another process has printed.
  mutating func add(printedBy output: String) throws {
    for line in output.split(separator: "\n") {
      guard let colon = line.firstRange(of: ": ") else { throw wrong("No figure: \(line)") }
      let words = line[colon.upperBound...].split(separator: " ")
      guard words.count == 2, let value = Double(words[0]) else {
        throw wrong("No figure: \(line)")
      }
      add(String(line[..<colon.lowerBound]), value, String(words[1]))
    }
  }

  /// Prints the median of each figure.
  func print() {
    for figure in figures {
      let median = figure.values.sorted()[figure.values.count / 2]
      Swift.print("\(figure.name): \(Self.text(median)) \(figure.unit)")
    }
  }

  /// The number with at most two decimals.
  static func text(_ value: Double) -> String {
    let rounded = (value * 100).rounded() / 100
    return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
  }
}
