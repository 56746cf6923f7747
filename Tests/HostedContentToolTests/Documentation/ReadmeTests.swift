import Foundation
import TestSupport
import Testing

/// Runs the commands of README and the articles like a reader.
@Suite("Commands in the documentation", .timeLimit(.minutes(10)))
struct ReadmeTests {
  /// The command blocks of a page.
  private static func blocks(_ page: String) throws -> [String] {
    let text = try String(contentsOf: SourceTree.root.appending(path: page), encoding: .utf8)
    // Every second part is the content of a block, after the name of its language.
    let parts = text.components(separatedBy: "```").enumerated()
    return parts.filter { $0.offset % 2 == 1 }.map(\.element)
      .filter { $0.hasPrefix("\n") || $0.hasPrefix("sh\n") }
      .map { String($0.drop { $0 != "\n" }) }.filter { $0.contains("\nhostedcontent ") }
  }

  /// Runs commands as a shell script in which `hostedcontent` is the tool.
  private func run(_ script: String, in tool: Tool) throws -> Tool.Result {
    let bin = tool.folder.path("bin")
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(bin)/hostedcontent", withDestinationPath: Tool.path)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return try tool.run(
      ["-e", "-c", script], program: "/bin/bash", environment: ["PATH": "\(bin):\(path)"])
  }

  @Test("The commands in README publish and install a product")
  func readme() throws {
    let tool = try Tool()
    let script = try #require(try Self.blocks("README.md").first)
    let result = try run(script, in: tool)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(result.output.hasSuffix("com.example.chapter1 1.0: installed\nOnce upon a time\n"))
  }

  @Test("The commands in the tool's guide publish, install, update, restore and remove")
  func commandLine() throws {
    let tool = try Tool()
    let script = try #require(try Self.blocks("Documentation/CommandLine.md").first)
    let result = try run(script, in: tool)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(result.output.contains("com.example.chapter1 1.0: installed\nOnce upon a time\n"))
    #expect(result.output.contains("com.example.chapter1 1.1: installed"))
    #expect(try tool.current("library") == ["com.example.chapter1": "1.1"])
    #expect(try tool.current("second") == ["com.example.chapter1": "1.1"])
    #expect(!tool.exists("library/products/com.example.chapter1/1.0"))
  }

  @Test("The commands in the publishing guide convert and publish archives")
  func conversion() throws {
    let tool = try Tool()
    try tool.succeed("store", "init", "store")
    for (sample, name) in [("zip", "chapter1.zip"), ("tar-gz", "chapter2.tar.gz")] {
      try FileManager.default.copyItem(
        atPath: Tool.sample("forms/\(sample).pkg"), toPath: tool.folder.path(name))
    }
    let page = "Sources/Publishing/ContentStore/ContentStore.docc/PublishingAndKeys.md"
    let script = try #require(try Self.blocks(page).first { $0.contains("--from") })
    let result = try run(script, in: tool)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    for product in ["com.example.forms.zip", "com.example.forms.tar-gz"] {
      #expect(result.output.contains("\(product) 1.0: published"), "\(result.output)")
    }
  }

  @Test("The commands in the package guide build, inspect and convert packages")
  func packages() throws {
    let tool = try Tool()
    let script = try Self.blocks("Documentation/Package.md").joined(separator: "\n")
    let result = try run(script, in: tool)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    for name in ["chapter1.pkg", "audio.pkg", "converted.pkg"] { #expect(tool.exists(name)) }
    #expect(try tool.succeed("inspect", "converted.pkg").output.contains("version   1.1"))
  }
}
