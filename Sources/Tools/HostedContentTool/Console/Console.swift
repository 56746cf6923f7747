import FoundationEssentials
import Glibc
import HostedConcurrency
import HostedFileIO
import HostedModel

/// Prints results to standard output, and messages and progress to standard error.
struct Console: Sendable {
  var isQuiet = false
  var printsJSON = false
  /// The arguments of the current command; errors may name its options.
  var arguments: Arguments?
  /// Handles interrupts by the user; nil in tests.
  var signals: StopSignals?

  /// Returns a file system for commands that remove unfinished results after a signal; see
  /// `StopSignals`.
  func stoppableFileSystem() -> FileSystem { signals?.stoppableFileSystem() ?? .real }

  /// Whether standard error is a terminal that can show progress bars.
  let showsBars =
    isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  /// The errno of a failed write to standard output.
  private let outputError = OutputError()

  private final class OutputError: Sendable {
    let number = Mutex<Int32?>(nil)
  }

  /// Returns `status`, or throws the error of a failed write to standard output.
  ///
  /// A closed pipe is not an error: the reader (`| head`) has finished.
  func checked(_ status: ExitStatus) throws -> ExitStatus {
    guard let number = outputError.number.withLock({ $0 }), number != EPIPE else { return status }
    throw ContentError(
      .fileFailed, "Cannot write to standard output",
      remedy: "Check the file or program that receives the output",
      cause: String(cString: strerror(number)))
  }

  /// Prints one line of a result; it may contain untrusted titles, names and messages.
  func print(_ line: String) { print(document: line.printable()) }

  /// Prints our own text unchanged, such as help.
  func print(document text: String) {
    if let number = Self.write(text + "\n", to: STDOUT_FILENO) {
      outputError.number.withLock { $0 = $0 ?? number }
    }
  }

  /// Prints the URL of a server in one line: its only output.
  func print(listeningAt url: String) {
    print(document: printsJSON ? "{\"url\": \"\(url)\"}" : url)
  }

  /// Prints the result as JSON, if requested; otherwise calls `asText`, which prints it for people.
  func print(_ report: some Encodable, asText: () throws -> Void) throws {
    if printsJSON { try print(json: report) } else { try asText() }
  }

  /// Prints `value` as JSON with sorted keys; invisible characters are escaped.
  func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    let isPlain = text.utf8.allSatisfy { (0x20...0x7e).contains($0) || $0 == UInt8(ascii: "\n") }
    if isPlain { return print(document: text) }
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar.isPrintable || scalar == "\n" {
        shown.append(scalar)
      } else {
        // It can only be in a string (RFC 8259, 7).
        shown += scalar.utf16.flatMap(Self.escape)
      }
    }
    print(document: String(shown))
  }

  /// `\uXXXX`.
  private static func escape(_ unit: UInt16) -> String.UnicodeScalarView {
    let digits = String(unit, radix: 16)
    return "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars
  }

  /// Prints a table, and returns the widths of its columns except the last one.
  ///
  /// Each row has as many cells as the heading.
  @discardableResult
  func print(table rows: [[String]], heading: [String]) -> [Int] {
    let rows = ([heading] + rows).map(Self.printable)
    let widths = heading.indices.dropLast().map { column in
      rows.map { $0[column].count }.max() ?? 0
    }
    print(printable: rows, widths)
    return widths
  }

  /// Prints more rows of a table at once; longer cells move the rest of their row.
  func print(rows: [[String]], widths: [Int]) { print(printable: rows.map(Self.printable), widths) }

  private func print(printable rows: [[String]], _ widths: [Int]) {
    guard !rows.isEmpty else { return }
    let lines = rows.map { row in
      (zip(row, widths).map { $0.padded(to: $1) } + row.suffix(1)).joined(separator: "  ")
    }
    print(document: lines.joined(separator: "\n"))
  }

  private static func printable(_ row: [String]) -> [String] {
    row.map { $0.printable(limit: 1_000) }
  }

  /// Prints a message to the user, in one line.
  func note(_ text: String) {
    if !isQuiet { _ = Self.write(text.printable() + "\n", to: STDERR_FILENO) }
  }

  /// Prints an error and its remedy, even with `--quiet`.
  func report(_ error: ContentError) {
    let error = arguments.map(error.withHint) ?? error
    _ = Self.write("hostedcontent: \(error)".printable() + "\n", to: STDERR_FILENO)
  }

  /// Writes text to the terminal unchanged.
  func draw(_ text: String) {
    if !isQuiet { _ = Self.write(text, to: STDERR_FILENO) }
  }

  /// Writes all of `text`; returns the errno if that fails.
  static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count < 0 else {
        bytes = bytes.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: break
      case EAGAIN:
        // Another program that has the same pipe or terminal has made it non-blocking.
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&output, 1, -1)
      case let number: return number
      }
    }
    return nil
  }

  /// Formats a number of things whose plural ends with s: 1 file, 2 files.
  static func count(_ number: Int, _ name: String) -> String {
    "\(number) \(name)\(number == 1 ? "" : "s")"
  }

  /// Formats a number of bytes for people: 1.2 MB.
  static func bytes(_ count: Int64) -> String {
    var value = Double(count)
    for unit in ["bytes", "kB", "MB"] {
      // A value that would be rounded to 1000.0 belongs to the next unit.
      if value < 999.95 { return unit == "bytes" ? "\(count) bytes" : "\(rounded(value)) \(unit)" }
      value /= 1000
    }
    return "\(rounded(value)) GB"
  }

  private static func rounded(_ value: Double) -> String {
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}

extension String {
  /// The text with spaces after it, so that it has at least `width` characters.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
