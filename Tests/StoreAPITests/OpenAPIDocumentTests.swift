import ContentTrust
import Foundation
import StoreAPI
import TestSupport
import Testing

@Suite("The description of the API")
struct OpenAPIDocumentTests {
  @Test func `The server has the document of the repository`() throws {
    let file = try Data(contentsOf: SourceTree.root.appending(path: "Documentation/openapi.json"))
    #expect(
      try JSONValue(parsing: OpenAPIDocument.bytes) == JSONValue(parsing: Array(file)),
      "Run Scripts/openapi")
  }

  @Test func `Each reference names a component, and each component is used`() throws {
    let document = try JSONValue(parsing: OpenAPIDocument.bytes)
    let used = Set(Self.references(in: document))
    var named: Set<String> = []
    guard case .object(let kinds)? = document["components"] else { throw UnexpectedBody() }
    for (kind, components) in kinds where kind != "securitySchemes" {
      guard case .object(let components) = components else { throw UnexpectedBody() }
      named.formUnion(components.keys.map { "#/components/\(kind)/\($0)" })
    }
    #expect(used == named)
  }

  private static func references(in value: JSONValue) -> [String] {
    switch value {
    case .object(let members):
      (members["$ref"]?.string).map { [$0] } ?? members.values.flatMap { references(in: $0) }
    case .array(let elements): elements.flatMap { references(in: $0) }
    default: []
    }
  }
}
