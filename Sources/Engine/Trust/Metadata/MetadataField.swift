import HostedModel
package import FoundationEssentials

/// A value in metadata with its path, for error messages.
package struct MetadataField {
  let role: MetadataName
  let path: String
  let value: JSONValue

  private func damaged(_ expected: String) -> ContentError {
    .metadataDamaged(role, "\(path.isEmpty ? "the document" : path) is not \(expected)")
  }

  /// Maps the members of an object; throws if there are more than `limit`.
  func members<Value>(
    atMost limit: Int = .max, _ read: (_ key: String, MetadataField) throws -> Value
  ) throws -> [String: Value] {
    guard case .object(let members) = value else { throw damaged("an object") }
    guard members.count <= limit else { throw damaged("an object of at most \(limit) members") }
    var values: [String: Value] = [:]
    values.reserveCapacity(members.count)
    for (key, value) in members { values[key] = try read(key, field(key, value)) }
    return values
  }

  /// The elements of an array, as fields; throws if there are more than `limit`.
  func elements(atMost limit: Int) throws -> [MetadataField] {
    guard case .array(let elements) = value else { throw damaged("an array") }
    guard elements.count <= limit else { throw damaged("an array of at most \(limit) elements") }
    return elements.enumerated().map {
      MetadataField(role: role, path: "\(path)[\($0.offset)]", value: $0.element)
    }
  }

  private func field(_ key: String, _ value: JSONValue) -> MetadataField {
    MetadataField(role: role, path: path.isEmpty ? key : "\(path).\(key)", value: value)
  }

  /// The member `key` of an object; nil if it does not exist.
  func optional(_ key: String) throws -> MetadataField? {
    guard case .object(let members) = value else { throw damaged("an object") }
    return members[key].map { field(key, $0) }
  }

  /// The member `key` of an object; throws if it does not exist.
  subscript(key: String) -> MetadataField {
    get throws {
      guard let field = try optional(key) else {
        throw ContentError.metadataDamaged(
          role, "\(path.isEmpty ? "" : "\(path).")\(key) is missing")
      }
      return field
    }
  }

  /// Returns the only member of an object that has a name in `names`.
  func onlyOne(of names: String...) throws -> (name: String, field: MetadataField) {
    let found = try names.compactMap { name in try optional(name).map { (name, $0) } }
    guard found.count == 1 else {
      throw ContentError.metadataDamaged(
        role, "\(path) must have exactly one of \(names.joined(separator: " and "))")
    }
    return found[0]
  }

  /// Returns `found`; throws if it is nil, because the value is not what is `expected`.
  private func require<Value>(_ found: Value?, _ expected: @autoclosure () -> String) throws
    -> Value
  {
    guard let found else { throw damaged(expected()) }
    return found
  }

  var string: String { get throws { try require(value.string, "a string") } }

  /// A string of at most `limit` bytes.
  func string(atMost limit: Int) throws -> String {
    let text = try string
    guard text.utf8.count <= limit else { throw damaged("a string of at most \(limit) bytes") }
    return text
  }

  var bool: Bool {
    get throws {
      guard case .bool(let truth) = value else { throw damaged("true or false") }
      return truth
    }
  }

  func integer(atLeast minimum: Int64) throws -> Int64 {
    try require(
      value.integer.flatMap { $0 >= minimum ? $0 : nil }, "an integer of at least \(minimum)")
  }

  /// A time in exactly the form 2030-01-01T00:00:00Z.
  var date: Date {
    get throws {
      try require(Date(metadataText: string), "a UTC time such as 2030-01-01T00:00:00Z")
    }
  }

  /// The digests in a `hashes` object.
  var hashes: FileHashes {
    get throws {
      try require(
        FileHashes(json: value), "an object with a SHA-256 or SHA-512 in hexadecimal digits")
    }
  }
}

extension Date {
  /// Reads `yyyy-MM-dd'T'HH:mm:ssZ`; returns nil for any other form.
  package init?(metadataText text: String) {
    // Foundation accepts more forms. Formatting the result again detects them.
    guard let date = try? Date(text, strategy: .iso8601), date.metadataText == text else {
      return nil
    }
    self = date
  }

  /// The time in the form of metadata: whole seconds, UTC.
  package var metadataText: String { formatted(.iso8601) }
}
