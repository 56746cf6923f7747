import FoundationEssentials

/// Any value of a property list; it can be changed and written again.
indirect enum PropertyListValue: Codable {
  case dictionary([String: PropertyListValue])
  case array([PropertyListValue])
  case string(String)
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case data(Data)
  case date(Date)

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    func decoded<Part: Decodable>(_ make: (Part) -> Self) -> Self? {
      (try? value.decode(Part.self)).map(make)
    }
    self =
      if let list = decoded(Self.dictionary) ?? decoded(Self.array) {
        list
      } else if let text = decoded(Self.string) ?? decoded(Self.date) {
        text
      } else if let number = decoded(Self.boolean) ?? decoded(Self.integer) ?? decoded(Self.real) {
        number
      } else {
        .data(try value.decode(Data.self))
      }
  }

  func encode(to encoder: any Encoder) throws {
    // Only the encoder's own container writes Data and Date as elements.
    var container = encoder.singleValueContainer()
    switch self {
    case .dictionary(let values): try container.encode(values)
    case .array(let values): try container.encode(values)
    case .string(let value): try container.encode(value)
    case .boolean(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .real(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    }
  }

  /// The XML property list; keys are sorted, so the same value always has the same bytes.
  var document: [UInt8] {
    get throws {
      let encoder = PropertyListEncoder()
      encoder.outputFormat = .xml
      return Array(try encoder.encode(self))
    }
  }
}
