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

  /// The names that targets of this package had, without a prefix.
  ///
  /// Other packages may use them: SwiftPM compares the names of all targets that a program needs.
  private static let formerNames = """
    CArchive CDeflate CSQLite CCrypto CCurl CPostgreSQL CLinux CMicroHTTPD COpenAPI CSpawn CTLSClient \
    ContentModel Concurrency FileIO Digests ContentTransfer ContentTrust ContentPackage Database \
    ContentJournal StoreLedger ContentLibrary StoreServer PostgresLedger StoreAPI StoreAPIServer \
    TUFClient Bookshelf AsyncBookshelf Members Keeper Chooser Course queue-benchmark \
    trust-benchmark sales-benchmark restore-benchmark transfer-benchmark fault-matrix FuzzTargets \
    TestSupport TestTraits Simulation simulate CrashPoints crash-driver soak
    """.split(separator: " ").map(String.init)

  /// Creates a second package with targets of these names, each with a function.
  ///
  /// Returns a program that calls them and opens a payment queue.
  private func writeNeighbor() throws -> String {
    let names = Self.formerNames
    for name in names {
      let module = name.replacing("-", with: "_")
      if name.contains(/^C[A-Z]/) {
        let header = "int neighbor_\(module)(void);\n"
        try write(header, to: "neighbor/Sources/\(name)/include/\(name).h")
        try write(
          "#include \"\(name).h\"\nint neighbor_\(module)(void) { return 1; }\n",
          to: "neighbor/Sources/\(name)/\(name).c")
      } else {
        try write(
          "public func neighbor_\(module)() -> Int32 { 1 }\n",
          to: "neighbor/Sources/\(name)/Neighbor.swift")
      }
    }
    try write(
      """
      // swift-tools-version: 6.2
      import PackageDescription

      let names = \(names)
      let package = Package(
        name: "Neighbor", products: [.library(name: "Neighbor", targets: names)],
        targets: names.map { .target(name: $0) })
      """, to: "neighbor/Package.swift")
    try write(
      """
      // swift-tools-version: 6.2
      import PackageDescription

      let package = Package(
        name: "Client",
        dependencies: [.package(path: "../HostedContent"), .package(path: "../neighbor")],
        targets: [
          .executableTarget(
            name: "Service",
            dependencies: [
              .product(name: "HostedContent", package: "HostedContent"),
              .product(name: "Neighbor", package: "neighbor"),
            ])
        ])
      """, to: "client/Package.swift")
    try FileManager.default.removeItem(atPath: tool.folder.path("client/Tests"))
    let modules = names.map { $0.replacing("-", with: "_") }
    return """
      import Foundation
      import HostedContent
      \(modules.map { "import \($0)" }.joined(separator: "\n"))

      let sum = \(modules.map { "neighbor_\($0)()" }.joined(separator: "\n  + "))
      let queue = try PaymentQueue(
        PaymentQueue.Configuration(
          library: URL(filePath: CommandLine.arguments[2]),
          store: try StoreLocation(CommandLine.arguments[1])))
      print(sum, try await queue.products(["com.example.book.chapter1"]).products.count)
      queue.close()
      """
  }

  private func write(_ text: String, to path: String) throws {
    let file = URL(filePath: tool.folder.path(path))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
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

  @Test("A package with targets of the former names can be in the same program", .slow)
  func neighbor() throws {
    _ = try writeNeighbor()
    let result = try resolve()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("neighbor"))
  }

  // Builds the library again, which takes minutes.
  @Test("A program with such a package is built and runs", .enabled(if: SlowTests.areComplete))
  func neighborBuilt() throws {
    try write(writeNeighbor(), to: "client/Sources/Service/main.swift")
    let built = try swift(
      "build", "--package-path", tool.folder.path("client"), "--cache-path",
      tool.folder.path("cache"))
    #expect(built.status == 0, "\(built.output.suffix(2_000))\(built.errors.suffix(2_000))")
    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "publish", "store", "\(Tool.samples)/chapter1-1.0.pkg")
    let end = try tool.run(
      ["store", "library"], program: tool.folder.path("client/.build/debug/Service"))
    #expect(end.output == "\(Self.formerNames.count) 1\n", "\(end.errors)")
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
