import ContentTrust

/// A JSON value that a console can print.
struct PrintedJSON: Encodable {
  let value: JSONValue

  init(_ value: JSONValue) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encodeNil()
    case .bool(let truth): try container.encode(truth)
    case .integer(let number): try container.encode(number)
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let elements): try container.encode(elements.map(PrintedJSON.init))
    case .object(let members): try container.encode(members.mapValues(PrintedJSON.init))
    }
  }
}
