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
    self =
      if let values = try? value.decode([String: PropertyListValue].self) {
        .dictionary(values)
      } else if let values = try? value.decode([PropertyListValue].self) {
        .array(values)
      } else if let string = try? value.decode(String.self) {
        .string(string)
      } else if let boolean = try? value.decode(Bool.self) {
        .boolean(boolean)
      } else if let integer = try? value.decode(Int64.self) {
        .integer(integer)
      } else if let real = try? value.decode(Double.self) {
        .real(real)
      } else if let date = try? value.decode(Date.self) {
        .date(date)
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
