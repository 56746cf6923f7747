import HostedModel
import Testing

/// Reading the members of a JSON document as types, with paths in errors.
@Suite struct JSONReaderTests {
  private struct Failure: Error, Hashable {
    let problem: JSONProblem
    let path: String
  }

  private struct Failures: JSONErrors {
    func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error {
      Failure(problem: problem, path: steps.text)
    }
  }

  private func reader(_ text: String, treatsNullAsMissing: Bool = false) throws
    -> JSONReader<Failures>
  {
    JSONReader(
      try JSONValue(parsing: Array(text.utf8), rules: .anyNumber), errors: Failures(),
      treatsNullAsMissing: treatsNullAsMissing)
  }

  @Test func `members, elements and values are read with their types`() throws {
    let document = try reader(#"{"a":{"list":["x",7,true,{"b":"y"}]},"none":null}"#)
    let list = try document["a"]["list"].elements(atMost: 4)
    #expect(try list[0].string == "x")
    #expect(try list[0].string(atMost: 1) == "x")
    #expect(try list[1].integer == 7)
    #expect(try list[1].integer(atLeast: 7) == 7)
    #expect(try list[2].bool)
    #expect(try list[3].members { $0 + (try $1.string) } == ["b": "by"])
    #expect(try document.optional("other")?.string == nil)
    #expect(try document.optional("none")?.value == .null)
    try document.allowOnly(["a", "none"])
  }

  @Test func `an error has the path of the value and what was expected`() throws {
    let document = try reader(#"{"a":[{"b":1},"text"],"none":null}"#)
    let elements = try document["a"].elements()
    let first = try elements[0]["b"]
    let cases: [(JSONProblem, String, () throws -> Void)] = [
      (.expected(.string), "a[0].b", { _ = try first.string }),
      (.expected(.bool), "a[0].b", { _ = try first.bool }),
      (.expected(.array), "a[0].b", { _ = try first.elements() }),
      (.expected(.object), "a[1]", { _ = try elements[1]["b"] }),
      (.expected(.integer), "a[1]", { _ = try elements[1].integer }),
      (.missing, "a[0].c", { _ = try elements[0]["c"] }),
      (.unknown(names: ["c"]), "a[0].b", { try elements[0].allowOnly(["c"]) }),
      (
        .expected(.described("an integer of at least 2")), "a[0].b",
        { _ = try first.integer(atLeast: 2) }
      ),
      (
        .expected(.described("a string of at most 3 bytes")), "a[1]",
        { _ = try elements[1].string(atMost: 3) }
      ),
      (
        .expected(.described("an array of at most 1 elements")), "a",
        { _ = try document["a"].elements(atMost: 1) }
      ),
      (
        .expected(.described("an object of at most 1 members")), "",
        { _ = try document.members(atMost: 1) { $0 + $1.path } }
      ),
      (.expected(.string), "none", { _ = try document["none"].string }),
    ]
    for (problem, path, read) in cases {
      #expect(throws: Failure(problem: problem, path: path)) { try read() }
    }
  }

  @Test func `null can count as a missing member`() throws {
    let document = try reader(#"{"none":null}"#, treatsNullAsMissing: true)
    #expect(try document.optional("none")?.value == nil)
    #expect(throws: Failure(problem: .missing, path: "none")) { try document["none"] }
  }
}
