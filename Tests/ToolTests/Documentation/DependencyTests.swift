import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// The Package.swift of the guide, in a package that depends on this one.
@Suite("A package depends on this one as the guide says", .timeLimit(.minutes(60)))
struct DependencyTests {
  private static let root = URL(filePath: Tool.samples).deletingLastPathComponent()
  private let tool: Tool
  private let blocks: [String]

  /// Creates the client's package beside a link to this package.
  init() throws {
    tool = try Tool()
    let page = try DocumentPage("Documentation/AddToYourPackage.md")
    blocks = page.blocks(in: "swift manifest").map(\.text)
    for target in ["Sources/Service/main.swift", "Tests/ServiceTests/ServiceTests.swift"] {
      let file = URL(filePath: tool.folder.path("client/\(target)"))
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      let module = target.hasPrefix("Tests") ? "HostedContentTesting" : "HostedContent"
      try Data("import \(module)\n".utf8).write(to: file)
    }
    for name in ["HostedContent", "checkout"] {
      try FileManager.default.createSymbolicLink(
        atPath: tool.folder.path(name), withDestinationPath: Self.root.path(percentEncoded: false))
    }
  }

  /// Writes the manifest of the guide, with another dependency if one is given.
  private func writeManifest(_ dependency: String? = nil) throws {
    var block = try #require(blocks.first)
    if let dependency {
      block = block.replacing(#".package(path: "../HostedContent")"#, with: dependency)
      try #require(block.contains(dependency))
    }
    try tool.write(
      """
      // swift-tools-version: 6.2
      import PackageDescription

      let package = Package(
        name: "Client",
      \(block))
      """, to: "client/Package.swift")
  }

  private func swift(_ words: String...) throws -> Tool.Result {
    try tool.run(["swift"] + words, program: "/usr/bin/env")
  }

  /// Resolves the client's dependencies and their products.
  private func resolve() throws -> Tool.Result {
    try swift(
      "package", "--package-path", tool.folder.path("client"), "--cache-path",
      tool.folder.path("cache"), "show-dependencies", "--format", "flatlist")
  }

  /// The forms in the guide.
  static let forms = ["a folder of this name", "a folder of another name", "or revision:"]

  @Test("Each form of the dependency is resolved", .slow, arguments: forms)
  func resolved(form: String) throws {
    let list = try #require(blocks.last)
    let line = try #require(list.split(separator: "\n").first { $0.contains(form) })
    var dependency = line.components(separatedBy: "//  ")[0].trimmingCharacters(in: .whitespaces)
    if dependency.contains("url:") {
      let clone = tool.folder.path("HostedContent.git")
      let made = try tool.run(
        [
          "-ec",
          "git clone --quiet --bare \"$0\" \"$1\"; git -C \"$1\" branch --quiet --force main HEAD",
          Self.root.path(percentEncoded: false), clone,
        ], program: "/bin/bash")
      try #require(made.status == 0, "\(made.errors)")
      dependency = dependency.replacing(
        "https://git.example.com/HostedContent.git", with: "file://\(clone)")
    }
    try writeManifest(dependency)
    let result = try resolve()
    #expect(result.status == 0, "\(result.output)\(result.errors)")
  }

  @Test("A folder with another name needs the package name, as in the guide", .slow)
  func otherName() throws {
    try writeManifest(#".package(path: "../checkout")"#)
    let result = try resolve()
    #expect(result.status != 0 && result.errors.contains("unknown package 'HostedContent'"))
  }

  // Builds the library again, which takes minutes.
  @Test("A client with the guide's manifest is built", .enabled(if: SlowTests.areComplete))
  func built() throws {
    try writeManifest()
    let result = try swift(
      "build", "--build-tests", "--package-path", tool.folder.path("client"), "--cache-path",
      tool.folder.path("cache"))
    #expect(result.status == 0, "\(result.output.suffix(2_000))\(result.errors.suffix(2_000))")
    #expect(tool.exists("client/.build/debug/Service"))
  }
}
