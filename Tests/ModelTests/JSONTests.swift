import HostedModel
import HostedTestSupport
import Testing

@Suite struct JSONTests {
  private func parsed(_ text: String) throws -> JSONValue {
    try JSONValue(parsing: Array(text.utf8))
  }

  @Test(arguments: [
    (#"{}"#, #"{}"#),
    (#" [ 1 , -2,0 ] "#, #"[1,-2,0]"#),
    (#"{"b":true,"a":null,"B":false}"#, #"{"B":false,"a":null,"b":true}"#),
    (#"{"a":{"d":[],"c":"x"},"":1}"#, #"{"":1,"a":{"c":"x","d":[]}}"#),
    (#""a\/\"\\b""#, #""a/\"\\b""#),
    (#""\u00e9\ud83d\ude00""#, "\"é😀\""),
    ("\"\\n\\t\\u0001\"", "\"\n\t\u{1}\""),
    (#"{"\uffff":1,"\ud83d\ude00":2,"z":3}"#, "{\"z\":3,\"\u{ffff}\":1,\"😀\":2}"),
    (#"9223372036854775807"#, #"9223372036854775807"#),
    (#"-9223372036854775808"#, #"-9223372036854775808"#),
  ])
  func `the canonical form sorts by code point and only escapes quote and backslash`(
    _ text: String, _ expected: String
  ) throws {
    #expect(try parsed(text).canonical == Array(expected.utf8))
  }

  @Test func `encoding and decoding preserves values, including control characters`() throws {
    let value = JSONValue.object([
      "text": .string("line\nbell\u{7}quote\"slash\\"), "list": .array([.null, .bool(true)]),
      "number": .integer(-7),
    ])
    #expect(try JSONValue(parsing: value.encoded) == value)
  }

  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "[1 2]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":}", "[",
    "01", "-01", "-0", "-", "1.0", "1e3", "1E3", "9223372036854775808", "+1", "0x1", "NaN",
    "tru", "nulL", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
    "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "1 2", "{} {}", "[]x", "'a'", "/**/1",
    "\u{feff}{}", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}",
    "{\"\\u00e9\":1,\"e\\u0301\":2}",
  ])
  func `JSON that is not strict is refused`(_ text: String) {
    #expect(throws: JSONSyntaxError.self) { try parsed(text) }
  }

  @Test(
    arguments: [
      [0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80],
    ] as [[UInt8]])
  func `bytes that are not UTF-8 are refused`(_ bytes: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: [quote] + bytes + [quote]) }
  }

  @Test(
    arguments: [
      ("1.5", .number(1.5), .number(1.5)), ("1.0", .integer(1), .number(1)),
      ("1e999", .number(.infinity), .null), ("01", nil, nil), ("1.", nil, nil),
      ("-0", .integer(0), .integer(0)),
      ("\"\\ud800\"", nil, .string("\u{fffd}")),
      ("{\"a\":1,\"a\":2}", nil, .object(["a": .integer(2)])),
      ("\u{feff}1", nil, .integer(1)),
    ] as [(String, JSONValue?, JSONValue?)])
  func `other rules accept more`(text: String, anyNumber: JSONValue?, tolerant: JSONValue?) {
    #expect((try? JSONValue(parsing: Array(text.utf8), rules: .anyNumber)) == anyNumber)
    #expect((try? JSONValue(parsing: Array(text.utf8), rules: .tolerant)) == tolerant)
  }

  @Test func `32 levels are accepted and 33 are refused`() throws {
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    _ = try parsed(nested(32))
    #expect(throws: JSONSyntaxError.self) { try parsed(nested(33)) }
    #expect(throws: JSONSyntaxError.self) { try parsed(String(repeating: "[", count: 100_000)) }
  }

  @Test(
    .enabled(if: SlowTests.allowExitTests && PeakMemory.isMeasurable),
    arguments: ["0", "[0]", #"{"":0}"#, #"{"":[0]}"#])
  func `a document of many small values takes at most 64 MB more than its own size`(
    _ value: String
  ) async {
    await #expect(processExitsWith: .success) { [value = value as String] in
      let bytes = Array(("[" + String(repeating: value + ",", count: 4_000_000) + "0]").utf8)
      _ = try JSONValue(parsing: Array("[\(value)]".utf8))
      let memory = try PeakMemory()
      #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes) }
      #expect(try memory.used() <= 64_000_000 + bytes.count)
    }
  }

  @Test func `more bytes than the limit are refused before they are parsed`() {
    #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Array("1000".utf8), limit: 3) }
  }

  @Test func `every prefix of a document is refused`() throws {
    let text = #"{"a":[1,-2,{"b":"\u00e9\n"}],"c":null,"d":true}"#
    _ = try parsed(text)
    for count in 0..<text.utf8.count {
      #expect(throws: JSONSyntaxError.self) {
        try JSONValue(parsing: Array(text.utf8.prefix(count)))
      }
    }
  }
}
