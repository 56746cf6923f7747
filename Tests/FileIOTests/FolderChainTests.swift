import HostedConcurrency
import HostedModel
import HostedFileIO
import HostedTestSupport
import Testing

@Suite("A chain of open folders")
struct FolderChainTests {
  @Test("Folders are created as needed, and opened once for neighbors")
  func create() throws {
    let temporary = try TemporaryFolder()
    let opened = Mutex(0)
    let folder = try temporary.opened(
      FileSystem(willPerform: { step, _ in if step == .open { opened.withLock { $0 += 1 } } }))
    let before = opened.withLock { $0 }
    let chain = FolderChain(folder)
    for name in ["1", "2", "3"] {
      let place = try chain.parent(of: "a/b/\(name)", creating: true)
      try place.folder.createLink(place.name, to: name)
    }
    #expect(opened.withLock { $0 } == before + 2)
    try chain.createFolders("a/c")
    #expect(try chain.status(of: "a/c")?.kind == .directory)
    #expect(try chain.status(of: "a/b/2")?.kind == .link)
    #expect(try temporary.opened().directory("a").entries().count == 2)
  }

  @Test("A missing folder, a file and a link are not folders of a path")
  func missing() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.opened()
    try folder.createDirectory("inside").replaceFile("file", with: [1])
    try folder.createLink("link", to: "inside")
    try folder.replaceFile("file", with: [2])
    let chain = FolderChain(folder)
    for path in ["none/file", "link/file", "file/file", "inside/none/file"] {
      #expect(try chain.status(of: path) == nil, "\(path)")
      let error = #expect(throws: ContentError.self) { _ = try chain.parent(of: path) }
      #expect(error?.code == .fileMissing, "\(path)")
    }
    #expect(try chain.status(of: "inside/none") == nil)
    #expect(try chain.file("inside/file").contents(limit: 10) == [1])
    let error = #expect(throws: ContentError.self) {
      _ = try chain.parent(of: "link/new", creating: true)
    }
    #expect(error != nil)
  }
}
