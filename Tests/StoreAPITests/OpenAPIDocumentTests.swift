import HostedModel
import Foundation
import HostedTestSupport
import Testing

@testable import HostedStoreAPI

@Suite("The description of the API")
struct OpenAPIDocumentTests {
  @Test func `The server has the document of the repository`() throws {
    let file = try Data(contentsOf: SourceTree.root.appending(path: "Documentation/openapi.json"))
    #expect(OpenAPIDocument.bytes == Array(file))
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

  @Test func `Each operation is described, with the statuses that all requests may get`() throws {
    let document = try JSONValue(parsing: OpenAPIDocument.bytes)
    guard case .object(let paths)? = document["paths"] else { throw UnexpectedBody() }
    var found: Set<Route.Operation> = []
    for (path, item) in paths {
      let template = path.split(separator: "/", omittingEmptySubsequences: false)
        .map { $0.hasPrefix("{") ? "*" : String($0) }.joined(separator: "/")
      guard case .object(let members) = item else { throw UnexpectedBody() }
      for (method, description) in members where method != "parameters" {
        let route = try #require(Route.table[template], "\(path)")
        #expect(route.method == method.uppercased(), "\(path)")
        let operation = route.operation
        found.insert(operation)
        guard case .object(let responses)? = description["responses"] else {
          throw UnexpectedBody()
        }
        var statuses = ["400", "405", "413", "414", "431", "500", "501"]
        if operation.scopes != nil { statuses += ["401", "403", "503"] }
        let missing = Set(statuses).subtracting(responses.keys)
        #expect(missing.isEmpty, "\(method) \(path)")
        #expect((description["security"] == .array([])) == (operation.scopes == nil))
      }
    }
    #expect(found == Set(Route.Operation.allCases))
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
