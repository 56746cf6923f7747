/// A value of a JSON document with its path, to be read as a type.
///
/// Each kind of document makes its own errors, with its code, words and remedy.
package struct JSONReader<Errors: JSONErrors>: Sendable {
  package private(set) var value: JSONValue
  /// The path from the document to the value; empty for the document.
  package private(set) var steps: [JSONStep] = []
  package let errors: Errors
  private let treatsNullAsMissing: Bool

  /// Creates a reader of a document.
  ///
  /// With `treatsNullAsMissing`, a member that is null counts as a missing one.
  package init(_ value: JSONValue, errors: Errors, treatsNullAsMissing: Bool = false) {
    self.value = value
    self.errors = errors
    self.treatsNullAsMissing = treatsNullAsMissing
  }

  private func reader(_ value: JSONValue, at step: JSONStep) -> JSONReader {
    var reader = self
    reader.value = value
    reader.steps.append(step)
    return reader
  }

  /// The path as in JavaScript, such as `roles[2].name`; empty for the document.
  package var path: String { steps.text }

  /// Returns the error for a problem of this value, or of its member `key`.
  package func error(_ problem: JSONProblem, at key: String? = nil) -> any Error {
    errors.error(problem, at: key.map { steps + [.member($0)] } ?? steps)
  }

  /// Returns what `convert` makes of this value; throws if that is nil.
  package func read<Value>(
    _ expected: @autoclosure () -> JSONExpectation, _ convert: (JSONValue) throws -> Value?
  ) throws -> Value {
    guard let converted = try convert(value) else { throw error(.expected(expected())) }
    return converted
  }

  // MARK: Objects

  /// The members of an object.
  package var object: [String: JSONValue] {
    get throws { try read(.object) { $0.members } }
  }

  /// Maps the members of an object; throws if there are more than `limit`.
  package func members<Value>(
    atMost limit: Int = .max, _ read: (_ key: String, JSONReader) throws -> Value
  ) throws -> [String: Value] {
    let members = try object
    guard members.count <= limit else {
      throw error(.expected(.described("an object of at most \(limit) members")))
    }
    var values: [String: Value] = [:]
    values.reserveCapacity(members.count)
    for (key, value) in members { values[key] = try read(key, reader(value, at: .member(key))) }
    return values
  }

  /// Throws if an object has a member with another name.
  package func allowOnly(_ names: Set<String>) throws {
    guard let unknown = try object.keys.filter({ !names.contains($0) }).min() else { return }
    throw error(.unknown(names: names), at: unknown)
  }

  /// Returns the member `key` of an object; nil if it does not exist.
  package func optional(_ key: String) throws -> JSONReader? {
    guard let member = try object[key], !treatsNullAsMissing || member != .null else { return nil }
    return reader(member, at: .member(key))
  }

  /// The member `key` of an object; throws if it does not exist.
  package subscript(key: String) -> JSONReader {
    get throws {
      guard let member = try optional(key) else { throw error(.missing, at: key) }
      return member
    }
  }

  // MARK: Other types

  /// Returns the elements of an array; throws if there are more than `limit`.
  package func elements(atMost limit: Int = .max) throws -> [JSONReader] {
    let elements = try read(.array) { $0.elements }
    guard elements.count <= limit else {
      throw error(.expected(.described("an array of at most \(limit) elements")))
    }
    return elements.enumerated().map { reader($1, at: .element($0)) }
  }

  package var string: String { get throws { try read(.string) { $0.string } } }

  /// Returns a string; throws if it has more than `limit` bytes.
  package func string(atMost limit: Int) throws -> String {
    let text = try string
    guard text.utf8.count <= limit else {
      throw error(.expected(.described("a string of at most \(limit) bytes")))
    }
    return text
  }

  package var bool: Bool { get throws { try read(.bool) { $0.bool } } }

  package var integer: Int64 { get throws { try read(.integer) { $0.integer } } }

  package func integer(atLeast minimum: Int64) throws -> Int64 {
    try read(.described("an integer of at least \(minimum)")) {
      $0.integer.flatMap { $0 >= minimum ? $0 : nil }
    }
  }
}

/// Makes the errors of one kind of JSON documents.
package protocol JSONErrors: Sendable {
  func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error
}

/// Why a value cannot be read.
package enum JSONProblem: Hashable, Sendable {
  /// The object does not have the member.
  case missing
  /// The object may only have members with these names.
  case unknown(names: Set<String>)
  /// The value has another type or is outside the limits.
  case expected(JSONExpectation)
  /// Something else, as the end of a sentence about the value.
  case other(String)
}

/// A type of values, or values within limits; its description follows “is not”.
package enum JSONExpectation: Hashable, Sendable, CustomStringConvertible {
  case object, array, string, bool, integer
  /// Another description, such as “an integer of at least 1”.
  case described(String)

  package var description: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .bool: "true or false"
    case .integer: "an integer"
    case .described(let text): text
    }
  }
}

/// A step of a path, from an object or an array to a value in it.
package enum JSONStep: Hashable, Sendable {
  case member(String)
  case element(Int)
}

extension [JSONStep] {
  /// The path as in JavaScript, such as `roles[2].name`; empty for the document.
  package var text: String {
    reduce(into: "") { text, step in
      switch step {
      case .member(let key): text += text.isEmpty ? key : ".\(key)"
      case .element(let index): text += "[\(index)]"
      }
    }
  }
}
