import HostedModel
package import HostedHTTPValues

extension HTTPRequest {
  /// The maximum length of a body, in bytes.
  package static let maximumBody = 64 << 10

  /// Returns the body: a JSON object of at most `limit` bytes with only these members.
  func object(_ members: Set<String>, limit: Int = HTTPRequest.maximumBody) throws -> RequestFields
  {
    try RequestFields(json(limit: limit), of: "the body", members)
  }

  /// Returns the body, which must be JSON of at most `limit` bytes.
  func json(limit: Int = HTTPRequest.maximumBody) throws -> JSONValue {
    guard isJSON else {
      throw Problem.refused(
        415, "The content type is not supported",
        remedy: "Send JSON with the header “Content-Type: application/json”")
    }
    guard body.count <= limit else {
      throw Problem.refused(
        413, "The body has more than \(limit) bytes", remedy: "Send a shorter body")
    }
    do {
      return try JSONValue(parsing: body, limit: limit, rules: .anyNumber)
    } catch {
      throw Problem.malformed("the body has \(error.description.printable(limit: 200))")
    }
  }

  /// Whether the body is JSON, or has no declared type.
  private var isJSON: Bool {
    guard let header = headers["content-type"] else { return true }
    let type = header.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    return type == "application/json"
  }
}

/// Reads the members of a JSON object in a request; null is the same as a missing member.
struct RequestFields: Sendable {
  let json: JSONValue
  private let reader: JSONReader<Errors>

  private struct Errors: JSONErrors {
    let name: String

    func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error {
      let key = steps.text
      let reason =
        switch problem {
        case .expected where steps.isEmpty: "\(name) is not a JSON object"
        case .expected(let type): "\(key) is not \(type)"
        case .unknown: "\(name) has the unknown member \(key.printable(limit: 100))"
        case .missing: "\(key) is missing"
        case .other(let text): "\(key) \(text)"
        }
      return Problem.malformed(reason)
    }
  }

  /// Throws a problem if `json` is not an object with only these members.
  ///
  /// An unknown member may be important for the caller, so it is not ignored. `name` is used in the
  /// message.
  init(_ json: JSONValue, of name: String, _ members: Set<String>) throws {
    self.json = json
    reader = JSONReader(json, errors: Errors(name: name), treatsNullAsMissing: true)
    try reader.allowOnly(members)
  }

  func text(_ key: String, limit: Int) throws -> String? {
    try reader.optional(key)?.read(.described("a text of at most \(limit) bytes on one line")) {
      $0.string.flatMap { $0.utf8.count <= limit && $0.hasNoControls ? $0 : nil }
    }
  }

  func number(_ key: String) throws -> Int64? { try reader.optional(key)?.integer }

  func flag(_ key: String) throws -> Bool { try reader.optional(key)?.bool ?? false }

  func list(_ key: String, _ counts: ClosedRange<Int>) throws -> [JSONValue] {
    let expected = JSONExpectation.described(
      "a list of \(counts.lowerBound) to \(counts.upperBound) elements")
    guard let member = try reader.optional(key) else {
      throw reader.error(.expected(expected), at: key)
    }
    return try member.read(expected) { value in
      value.elements.flatMap { counts.contains($0.count) ? $0 : nil }
    }
  }
}

extension String {
  /// Whether the text has no ASCII control characters; databases do not store all of them.
  var hasNoControls: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

  /// Whether the text has 1 to 128 visible ASCII characters, as identifiers have, and is not a dot
  /// segment.
  var isVisibleIdentifier: Bool {
    (1...128).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7e).contains($0) }
      && !isDotSegment
  }

  /// Whether clients and proxies would remove the text from a path (RFC 3986, 5.2.4).
  var isDotSegment: Bool { self == "." || self == ".." }
}

extension RequestLocation {
  /// Throws a problem if a parameter with one value is repeated.
  func requireSingleParameters() throws {
    var names: Set<String> = []
    for parameter in query where parameter.name != "id" {
      guard names.insert(parameter.name).inserted else {
        let name = parameter.name.printable(limit: 100)
        throw Problem.malformed("the parameter \(name) is repeated")
      }
    }
  }

  /// Returns a parameter of the query as a number; throws a problem if it is not in `range`.
  func number(_ name: String, _ range: ClosedRange<Int64>, default number: Int64) throws -> Int64 {
    guard let text = parameter(name) else { return number }
    guard let number = Int64(text), range.contains(number), text.utf8.first != UInt8(ascii: "+")
    else {
      throw Problem.malformed(
        "the parameter \(name) is not an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
