import Foundation
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the commands of README, guides and articles like a reader.
@Suite("Commands in the documentation", .timeLimit(.hang))
struct ReadmeTests {
  private static let update = "Sources/Engine/HostedContent/HostedContent.docc/UpdatingContent.md"
  private static let start = "Sources/Engine/HostedContent/HostedContent.docc/StartInFiveMinutes.md"
  private static let publishing =
    "Sources/Publishing/ContentStore/ContentStore.docc/PublishingAndKeys.md"
  private static let hosting = "Sources/Publishing/ContentStore/ContentStore.docc/Hosting.md"
  private static let moving = "Sources/StoreKit/StoreKit.docc/MovingFromApple.md"

  /// The pages whose commands run one after the other in one folder.
  static let pages = [
    "README.md", "Documentation/CommandLine.md", "Documentation/Package.md",
    "Documentation/Publication.md", "Documentation/Troubleshooting.md", start, update, publishing,
    hosting, moving,
  ]

  /// Pages whose commands need other keys or servers.
  private static let others = [
    "Documentation/Backup.md",  // BackupGuideTests
    "Documentation/Keys.md",  // KeyRecipeTests
    "Documentation/Network.md",  // NetworkGuideTests
    "Documentation/Server.md",  // ServerGuideTests
    "Documentation/StoreServer.md",  // StoreServerGuideTests
    "Documentation/StoreServerData.md",  // StoreServerGuideTests
  ]

  /// The address of a store in the pages; the tests serve `store` instead.
  private static let address = "https://content.example.com/"

  /// Creates what a page expects; otherwise the folder is empty.
  private func prepare(_ tool: Tool, for page: String) throws {
    switch page {
    case "Documentation/Troubleshooting.md":
      try tool.offerBook()
      try tool.succeed("get", "com.example.book", "--store", "store", "--library", "lib")
    case "Documentation/Publication.md":
      try makeChapter(tool)
      try tool.succeed("store", "init", "store")
      try makePackage(tool, "9.9")
      try tool.succeed("store", "publish", "store", "chapter1.pkg")
      try makePackage(tool, "1.9.1")
    case Self.hosting: try tool.offerBook()
    case Self.start: try makeChapter(tool)
    case Self.update:
      try makeChapter(tool)
      try makePackage(tool)
      try tool.succeed("store", "init", "store")
      try tool.succeed("store", "publish", "store", "chapter1.pkg")
      try tool.write("A new page\n", to: "chapter1/Contents/page-2.txt")
    case Self.publishing:
      try tool.succeed("store", "init", "store")
      for (sample, name) in [("zip", "chapter1.zip"), ("tar-gz", "chapter2.tar.gz")] {
        try FileManager.default.copyItem(
          atPath: Tool.sample("formats/\(sample).pkg"), toPath: tool.folder.path(name))
      }
    case Self.moving:
      try makeChapter(tool)
      try makePackage(tool)
    default: break
    }
  }

  private func makeChapter(_ tool: Tool) throws {
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("chapter1/Contents"), withIntermediateDirectories: true)
    try tool.write("Once upon a time\n", to: "chapter1/Contents/page-1.txt")
  }

  private func makePackage(_ tool: Tool, _ version: String = "1.0") throws {
    try tool.succeed(
      "package", "chapter1", "--output", "chapter1.pkg", "--product", "com.example.chapter1",
      "--content-version", version)
  }

  /// Checks what a page's commands printed and made.
  private func check(_ tool: Tool, after page: String, _ output: String) throws {
    switch page {
    case "README.md":
      #expect(output.hasSuffix("com.example.chapter1 1.0: installed\nOnce upon a time\n"))
    case "Documentation/CommandLine.md":
      #expect(output.contains("com.example.chapter1 1.0: installed\nOnce upon a time\n"))
      #expect(output.contains("com.example.chapter1 1.1: installed"))
      #expect(output.contains(": 0 errors, 0 warnings, 0 notes; "), "\(output)")
      #expect(try tool.current("library") == ["com.example.chapter1": "1.1"])
      #expect(try tool.current("second") == ["com.example.chapter1": "1.1"])
      #expect(!tool.exists("library/products/com.example.chapter1/1.0"))
      #expect(try tool.text("errors.txt") == "")
    case "Documentation/Package.md":
      for name in ["chapter1.pkg", "audio.pkg"] { #expect(tool.exists(name)) }
      #expect(try tool.succeed("inspect", "converted.pkg").output.contains("version   1.1"))
    case "Documentation/Troubleshooting.md":
      #expect(output.contains("No unfinished transactions.\n1 version verified, 0 differences\n"))
      #expect(output.contains("\ncom.example.book  1.0 "))
      #expect(output.contains(": 0 errors, 0 warnings, 0 notes; "), "\(output)")
    case "Documentation/Publication.md":
      #expect(try products(tool).contains("com.example.chapter1  1.9.1 "))
    case Self.start: #expect(try products(tool).contains("Chapter 1"))
    case Self.update: #expect(try products(tool).contains("com.example.chapter1  1.10 "))
    case Self.publishing:
      for product in ["com.example.forms.zip", "com.example.forms.tar-gz"] {
        #expect(output.contains("\(product) 1.0: published"), "\(output)")
      }
    case Self.hosting: #expect(output.contains(": 0 errors, 0 warnings, 0 notes; "), "\(output)")
    case Self.moving:
      #expect(output.hasPrefix("chapter1.pkg: valid\n"))
      #expect(try products(tool).contains("2.99 EUR  Chapter 1"))
    default: Issue.record("\(page) has no check")
    }
  }

  private func products(_ tool: Tool) throws -> String {
    try tool.succeed("products", "--store", "store").output
  }

  /// Whether a block has commands of the tool, and not only scripts of this repository.
  private static func usesTool(_ block: DocumentPage.Block) -> Bool {
    block.language == "sh" && block.text.contains("hostedcontent ")
  }

  @Test("The commands of each page work as written", .slow, arguments: pages)
  func works(page: String) throws {
    let tool = try Tool()
    try prepare(tool, for: page)
    var output = ""
    for block in try DocumentPage(page).blocks where Self.usesTool(block) {
      var script = block.text
      var server: FileServer?
      defer { server?.stop() }
      if script.contains(Self.address) {
        let store = try tool.serveStore()
        script = script.replacing(Self.address, with: store.url)
        server = store
      }
      let result = try tool.follow(script)
      #expect(result.status == 0, "line \(block.line): \(result.output)\(result.errors)")
      output += result.output
    }
    try check(tool, after: page, output)
  }

  @Test("Each page with commands has a test")
  func complete() throws {
    var found: Set<String> = []
    for page in try DocumentPage.all {
      for block in page.blocks(in: "sh") where !Self.others.contains(page.path) {
        if Self.usesTool(block) {
          found.insert(page.path)
        } else {
          // Tests in ScriptMentionTests, and below.
          #expect(block.text.contains("Scripts/"), "\(page.path) line \(block.line)")
        }
      }
    }
    #expect(found.sorted() == Self.pages.sorted())
  }

  @Test("The script in the tool's guide mails the errors of a failed update")
  func failedUpdate() throws {
    let tool = try Tool()
    let blocks = try DocumentPage("Documentation/CommandLine.md").blocks(in: "sh")
    let script = try #require(blocks.first { $0.text.contains("mail ") })
    // The library is missing.
    let result = try tool.follow("mail() { printf '%s|' \"$@\"; cat; }\n\(script.text)")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.hasPrefix("-s|Update failed|operator@example.com|hostedcontent: "))
    #expect(result.output.contains("No library found at "))
  }

  @Test("The first command for contributors clones the package with the scripts that follow")
  func contributing() throws {
    let tool = try Tool()
    let block = try #require(try DocumentPage("CONTRIBUTING.md").blocks(in: "sh").first)
    let lines = block.text.split(separator: "\n")
    let first = try #require(lines.first)
    let clone = first.replacing("URL", with: "\"$REPOSITORY\"")
    let scripts = lines.dropFirst().compactMap { $0.split(separator: " ").first }
    #expect(scripts.count > 1)
    let checks = scripts.map { "test -x \($0)\n" }.joined()
    let repository = ["REPOSITORY": SourceTree.root.path(percentEncoded: false)]
    let result = try tool.follow("\(clone)\n\(checks)", environment: repository)
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test("A library has the files of the tree in its guide", .slow)
  func tree() throws {
    let tool = try Tool()
    try tool.offerBook()
    try tool.succeed("get", "com.example.book", "--store", "store", "--library", "library")
    let block = try #require(try DocumentPage("Documentation/Library.md").blocks.first)
    for line in block.text.split(separator: "\n").dropFirst() {
      // No download is in progress.
      let name = try #require(line.split(separator: " ").first.map(String.init))
      let path = name.replacing("<content>", with: "com.example.book")
        .replacing("<version>", with: "1.0").replacing("<download>/", with: "")
      #expect(tool.exists("library/\(path)"), "\(line)")
    }
  }
}
