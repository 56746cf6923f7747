import HostedTestSupport
import Testing

/// The URLs that `tuf-client` accepts.
@Suite("URLs of repositories")
struct RepositoryURLTests {
  @Test(
    "tuf-client reads a folder by its URL, percent-encoded or not",
    arguments: ["a%20store", "a store"])
  func folder(name: String) throws {
    let tool = try Tool()
    try tool.succeed("store", "init", "a store")
    func client(_ words: String...) throws -> Tool.Result {
      try tool.run(
        [
          "--metadata-dir", "trusted", "--metadata-url",
          "file://\(tool.folder.path(name))/metadata",
        ] + words, program: Tool.program("tuf-client"))
    }
    let start = try client("init", tool.folder.path("a store/metadata/1.root.json"))
    #expect(start.status == 0, "\(start.errors)")
    let refresh = try client("refresh")
    #expect(refresh.status == 0, "\(refresh.errors)")
  }
}
