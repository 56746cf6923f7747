/// The faults of a package transfer, as lines of a fault script without their schedule.
enum Faults {
  /// A fault, and whether a download can succeed if it is permanent.
  struct Row {
    let line: String
    var isHarmless = false
    /// Whether it fails a download even if it happens once.
    var isFinal = false
    /// Whether it needs an HTTPS server.
    var isOfTLS: Bool { line.hasPrefix("* tls") }
  }

  private static let packages = "/targets/*.pkg"

  /// Each fault of the server's format, with all its variants.
  static func rows(wrongChain: String, wrongKey: String) -> [Row] {
    let lethal = [
      "cut 700kB", "cut 0", "reset", "reset 700kB", "close", "stall 700kB", "stall 0",
      "drip 10 50ms", "slow-head 1 100ms", "huge-head 1MB", "content-length +1000",
      "content-length -1000", "content-length 10", "partial shifted 1000", "partial short 100kB",
      "content-range none",
      "content-range shifted 1000", "content-range total 10", "content-range \"bytes nonsense\"",
      "unsatisfiable", "unsatisfiable bare", "body changed", "gzip", "login-page", "status 401",
      "status 403", "status 404", "status 500", "status 503", "status 503 retry-after 1",
      "status 429 retry-after-date 1", "redirect loop", "redirect file:///etc/passwd",
      "redirect http://127.0.0.1:1/gone", "redirect ftp://127.0.0.1/x", "flip 5MB",
    ]
    let harmless = [
      "latency 150ms", "rate 8MB/s", "drip 64kB 5ms", "content-length none", "longer 1000",
      "endless", "ignore-range", "partial overlapping 1000",
      "validators changed", "validators weak", "validators none",
    ]
    let tls = ["close", "refuse", "stall"]
    return lethal.map { Row(line: "\(packages) \($0)") }
      + harmless.map { Row(line: "\(packages) \($0)", isHarmless: true) }
      + ["/metadata/* status 500", "/metadata/* cut 100", "*.index flip 10"].map { Row(line: $0) }
      + tls.map { Row(line: "* tls \($0)") }
      + [Row(line: "* tls certificate \(wrongChain) \(wrongKey)", isFinal: true)]
  }
}
