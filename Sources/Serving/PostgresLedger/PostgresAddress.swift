import HostedCPostgreSQL
import HostedModel

/// Where a database is, and how to log in.
struct PostgresAddress: Sendable {
  /// Names the database in messages, without user, password and parameters.
  let name: String
  private let parameters: [String: String]

  /// Parameters that are used unless the URL has them.
  ///
  /// A host that disappears is noticed within a minute. Of several hosts, the primary one is used.
  private static let defaults = [
    "connect_timeout": "10", "keepalives_idle": "30", "keepalives_interval": "10",
    "keepalives_count": "3", "tcp_user_timeout": "60000", "target_session_attrs": "read-write",
    "gssencmode": "disable", "fallback_application_name": "hostedcontent",
  ]

  init(_ url: String) throws {
    guard ["postgresql://", "postgres://"].contains(where: { url.hasPrefix($0) }),
      let given = Self.parse(url), Self.isSafe(given)
    else {
      throw ContentError(
        .usage, "The address of the ledger database is invalid",
        remedy: "Use the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and encode other "
          + "characters than letters and digits in the password as %XX")
    }
    let database = given["dbname"] ?? given["user"] ?? "the default database"
    let host = given["host"] ?? given["hostaddr"] ?? "the default host"
    let port = given["port"].map { ":" + $0 } ?? ""
    name = "\(database) on \(host)\(port)".printable(limit: 200)
    var parameters = Self.defaults.merging(given) { $1 }
    parameters["client_encoding"] = "UTF8"
    self.parameters = parameters
  }

  /// Returns the parameters of a URL, or nil if it is malformed.
  private static func parse(_ url: String) -> [String: String]? {
    var message: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(url, &message)
    // The message is not shown, because it may contain the URL with the password.
    PQfreemem(message)
    guard let options else { return nil }
    defer { PQconninfoFree(options) }
    var parameters: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val {
        parameters[String(cString: keyword)] = String(cString: value)
      }
      option += 1
    }
    return parameters
  }

  /// Whether the parts that messages show cannot contain a part of the password.
  ///
  /// A password ends at an unencoded “@” or “/”: libpq takes its rest for a host, a port or a
  /// database.
  private static func isSafe(_ parameters: [String: String]) -> Bool {
    let hasSign = ["host", "dbname"].contains { parameters[$0]?.contains("@") == true }
    let port = parameters["port"] ?? ""
    return !hasSign && port.utf8.allSatisfy { $0 == UInt8(ascii: ",") || (48...57).contains($0) }
  }

  /// Connects; the result is nil only without memory, and must be finished.
  func connect() -> OpaquePointer? {
    // A null pointer ends each list.
    let keywords: [String?] = parameters.map { $0.key } + [nil]
    let values: [String?] = parameters.map { $0.value } + [nil]
    return withCStrings(keywords) { keywords in
      withCStrings(values) { values in PQconnectdbParams(keywords, values, 0) }
    }
  }
}

/// Calls `body` with pointers to the texts; nil stays nil.
func withCStrings<Value>(_ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Value) -> Value {
  var bytes: [CChar] = []
  let starts = texts.map { text -> Int? in
    guard let text else { return nil }
    defer { bytes += text.utf8CString }
    return bytes.count
  }
  return bytes.withUnsafeBufferPointer { buffer in
    body(starts.map { start in start.flatMap { buffer.baseAddress?.advanced(by: $0) } })
  }
}
