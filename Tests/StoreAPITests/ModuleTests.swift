import HostedShop
import HostedModel
import HostedTestSupport
import HostedTestTraits
import HostedTrust
import Testing

/// The dependencies in Package.swift.
@Suite("Modules that the API reaches", .waiting, .timeLimit(.hang))
struct ModuleTests {
  /// The direct dependencies of each target.
  private let dependencies: [String: Set<String>]

  init() throws {
    // SwiftPM locks its folder, which the tests themselves may hold.
    let scratch = try TemporaryFolder()
    let end = try Program.run(
      "/usr/bin/env",
      [
        "swift", "package", "--package-path", SourceTree.path(""), "--scratch-path",
        scratch.path("build"), "dump-package",
      ])
    // Warnings may precede the document.
    let start = try #require(end.output.firstIndex(of: "{"), "\(end.output)")
    let package = try JSONValue(parsing: Array(end.output[start...].utf8), rules: .anyNumber)
    var dependencies: [String: Set<String>] = [:]
    for target in try #require(package["targets"]?.elements) {
      let name = try #require(target["name"]?.string)
      // Such as {"byName": ["HostedModel", null]}.
      dependencies[name] = Set(
        (target["dependencies"]?.elements ?? []).compactMap {
          $0["byName"]?.elements?.first?.string
        })
    }
    self.dependencies = dependencies
  }

  /// The targets that a program with `target` links.
  private func reached(from target: String) -> Set<String> {
    var reached: Set<String> = []
    var next = dependencies[target] ?? []
    while let name = next.popFirst() {
      if reached.insert(name).inserted { next.formUnion(dependencies[name] ?? []) }
    }
    return reached
  }

  @Test func `The API links no HTTP server and no HTTP library`() {
    let modules = reached(from: "HostedStoreAPI")
    #expect(modules.isSuperset(of: ["HostedHTTPValues", "HostedShop", "HostedModel"]))
    let unwanted: Set = [
      "HostedCMicroHTTPD", "HostedCCurl", "HostedFileServer", "HostedStoreServer", "HostedTransfer",
    ]
    #expect(modules.isDisjoint(with: unwanted), "\(modules.intersection(unwanted))")
    // They are linked by the server.
    #expect(
      reached(from: "HostedStoreServer").isSuperset(of: ["HostedCMicroHTTPD", "HostedCCurl"]))
  }

  @Test func `The values of HTTP need nothing but the model`() {
    #expect(reached(from: "HostedHTTPValues") == ["HostedModel"])
  }

  @Test func `The ledger does not need signatures`() {
    #expect(!reached(from: "HostedShop").contains("HostedTrust"))
    #expect(PurchaseRecord.maximumReceipt == JSONWebSignature.maximumLength)
  }
}

extension JSONValue {
  fileprivate var elements: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }
}
