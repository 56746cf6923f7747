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
    if let keyed = try? decoder.container(keyedBy: Key.self) {
      var values: [String: PropertyListValue] = [:]
      for key in keyed.allKeys {
        values[key.stringValue] = try keyed.decode(PropertyListValue.self, forKey: key)
      }
      self = .dictionary(values)
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [PropertyListValue] = []
      while !list.isAtEnd { values.append(try list.decode(PropertyListValue.self)) }
      self = .array(values)
    } else {
      self = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ value: any SingleValueDecodingContainer) throws -> PropertyListValue
  {
    if let string = try? value.decode(String.self) { return .string(string) }
    if let boolean = try? value.decode(Bool.self) { return .boolean(boolean) }
    if let integer = try? value.decode(Int64.self) { return .integer(integer) }
    if let real = try? value.decode(Double.self) { return .real(real) }
    if let date = try? value.decode(Date.self) { return .date(date) }
    return .data(try value.decode(Data.self))
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
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

  /// The XML property list of this value.
  ///
  /// Keys are sorted, so the same value always has the same bytes.
  var document: [UInt8] {
    get throws {
      let encoder = PropertyListEncoder()
      encoder.outputFormat = .xml
      return Array(try encoder.encode(self))
    }
  }
}
