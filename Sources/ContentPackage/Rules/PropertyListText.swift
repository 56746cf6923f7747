import FoundationEssentials

/// A property list's value of any kind, to be changed and written again.
indirect enum PropertyListValue: Decodable {
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

  /// The XML property list of this value, with sorted keys, so that the same value gives the same bytes.
  var document: [UInt8] {
    let head = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
      "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">

      """
    return Array((head + text(indent: "") + "</plist>\n").utf8)
  }

  private func text(indent: String) -> String {
    switch self {
    case .dictionary(let values):
      let inner = values.sorted { $0.key < $1.key }.map { key, value in
        "\(indent)\t<key>\(Self.escaped(key))</key>\n" + value.text(indent: indent + "\t")
      }
      return "\(indent)<dict>\n\(inner.joined())\(indent)</dict>\n"
    case .array(let values):
      let inner = values.map { $0.text(indent: indent + "\t") }.joined()
      return "\(indent)<array>\n\(inner)\(indent)</array>\n"
    case .string(let string): return "\(indent)<string>\(Self.escaped(string))</string>\n"
    case .boolean(let value): return "\(indent)<\(value)/>\n"
    case .integer(let value): return "\(indent)<integer>\(value)</integer>\n"
    case .real(let value): return "\(indent)<real>\(value)</real>\n"
    case .data(let data): return "\(indent)<data>\(data.base64EncodedString())</data>\n"
    case .date(let date): return "\(indent)<date>\(date.formatted(.iso8601))</date>\n"
    }
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.append(character)
      }
    }
  }
}
