import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// The identifiers of contents belong to one product for ever.
@Suite(.long) struct ContentOwnerTests {
  private let fixture: PublisherFixture
  private let store: StoreFolder
  private let a: ProductIdentifier = "a"
  private let audio: ProductIdentifier = "a.audio"

  init() throws {
    fixture = try PublisherFixture()
    store = try fixture.create()
    let packages = [
      try fixture.package("a", "1"), try fixture.package("a", "1", content: "a.audio"),
    ]
    try store.publish(packages, now: fixture.now)
  }

  private func entries() throws -> [ProductIdentifier: CatalogList.Entry] {
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    return try fixture.client(trust).refresh(initialRoot: store.initialRoot())
      .list(.targets).entries
  }

  @Test func `a content with another identifier than its product has an entry with its owner`()
    throws
  {
    let found = try entries()
    #expect(Set(found.keys) == [a, audio])
    #expect(found[audio] == .content(of: a))
    guard case .product? = found[a] else {
      Issue.record("a is not a product")
      return
    }
  }

  @Test func `a content belongs to its product after all its versions were retired`() throws {
    try store.retire(a, version: "1", content: audio, now: fixture.now)
    #expect(try store.products().first?.versions.map(\.contentIdentifier) == [a])
    #expect(try entries()[audio] == .content(of: a))
    let before = try fixture.files()

    let stolen = try fixture.package("b", "2", content: "a.audio")
    let error = #expect(throws: ContentError.self) {
      try store.publish([stolen], now: fixture.now)
    }
    #expect(error?.code == .contentClaimed)
    #expect(error?.message.contains("already belongs to a") == true)
    let product = try fixture.package("a.audio", "2")
    #expect(code { try store.publish([product], now: fixture.now) } == .contentClaimed)
    #expect(code { try fixture.add("a.audio", to: store) } == .contentClaimed)
    // The product can publish it again, with a higher version.
    let old = try fixture.package("a", "0.9", content: "a.audio")
    #expect(code { try store.publish([old], now: fixture.now) } == .versionExists)
    #expect(try fixture.files() == before)
    try store.publish([fixture.package("a", "2", content: "a.audio")], now: fixture.now)
    let versions = try #require(try store.products().first).versions
    #expect(versions.map { "\($0.contentIdentifier) \($0.version)" } == ["a 1", "a.audio 2"])
  }

  @Test func `a product cannot use the identifier of another product as a content`() throws {
    try fixture.add("b", to: store)
    let package = try fixture.package("a", "2", content: "b")
    let error = #expect(throws: ContentError.self) {
      try store.publish([package], now: fixture.now)
    }
    #expect(error?.code == .contentClaimed)
    #expect(error?.message.contains("has the identifier of another product") == true)
  }

  @Test func `publishing again writes the lost file of a content's entry`() throws {
    let folder = try FileSystem.real.directory(at: "\(fixture.storePath)/targets/a.audio")
    let name = try #require(try folder.entries().first).name
    let bytes = try folder.contents(of: name, limit: 1 << 10)
    try folder.removeFile(name)
    let package = try fixture.package("a", "2", content: "a.audio")
    try store.publish([package], now: fixture.now)
    #expect(try folder.contents(of: name, limit: 1 << 10) == bytes)
  }

  @Test func `a change writes the lost entry of a content without versions`() throws {
    try store.withdraw(a, version: "1", content: audio, now: fixture.now)
    let folder = try FileSystem.real.directory(at: "\(fixture.storePath)/targets/a.audio")
    try folder.removeFile(#require(try folder.entries().first).name)
    // What `verify` recommends.
    #expect(try store.verify().damages.map(\.contentIdentifier) == [audio])
    try store.add(a, now: fixture.now)
    #expect(try store.verify().damages.isEmpty)
  }
}
