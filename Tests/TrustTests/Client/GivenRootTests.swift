import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import Testing

/// A given root for a library that already trusts a root.
@Suite struct GivenRootTests: ClientTests {
  let fixture: ClientFixture
  /// The requests of a refresh without news.
  private func usual(after version: Int = 1) -> [String] {
    ["metadata/\(version + 1).root.json", "metadata/timestamp.json"]
  }

  init() throws {
    fixture = try ClientFixture()
    store.put(try sample.publication().files)
  }

  private func refusal(of root: [UInt8], _ client: TrustClient? = nil) throws -> ContentError {
    let client = try client ?? self.client()
    return try #require(
      #expect(throws: ContentError.self) { try client.refresh(initialRoot: root) })
  }

  /// Publishes roots 2 to `last`, each with new keys and signed by the previous keys.
  ///
  /// Returns all roots.
  private func publishRoots(to last: Int64) throws -> [[UInt8]] {
    var current = sample
    var roots = [try sample.root()]
    for version in 2...last {
      let next = try current.rotating(.root)
      roots.append(try next.root(version, alsoSignedBy: current))
      store.put(["metadata/\(version).root.json": roots[roots.count - 1]])
      current = next
    }
    return roots
  }

  // MARK: Another store's root

  @Test func `another store's root is refused, by a new client and by one that has refreshed`()
    throws
  {
    let first = try client()
    _ = try first.refresh(initialRoot: sample.root())
    let other = try SampleMetadata()
    for client in [first, try client()] {
      #expect(try refusal(of: other.root(), client).code == .rootMismatch)
      // The trusted root does not change.
      #expect(try client.refresh(initialRoot: sample.root()).version == 1)
      #expect(try client.refresh(initialRoot: nil).version == 1)
    }
  }

  @Test func `the error has the digests of both root files, and the folder to remove`()
    throws
  {
    let trusted = try sample.root()
    _ = try client().refresh(initialRoot: trusted)
    let other = try SampleMetadata().root(7)
    let error = try refusal(of: other)
    #expect(error.code == .rootMismatch)
    #expect(error.message.contains("version 7, SHA-256 \(try Digest(of: other).hex)"))
    #expect(error.message.contains("version 1, SHA-256 \(try Digest(of: trusted).hex)"))
    #expect(error.remedy.contains(try folder.opened().path))
  }

  @Test
  func `another root with the trusted version is refused, even if the same keys have signed it`()
    throws
  {
    _ = try client().refresh(initialRoot: sample.root())
    let later = try sample.root(1, expires: sample.expires.addingTimeInterval(1))
    #expect(try refusal(of: later).code == .rootMismatch)
  }

  @Test func `the trusted root with one more signature is the trusted root`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    let signedAgain = try sample.root(1, alsoSignedBy: SampleMetadata())
    #expect(try client().refresh(initialRoot: signedAgain).version == 1)
  }

  @Test func `an older root without a chain to the trusted root is refused`() throws {
    let roots = try publishRoots(to: 3)
    _ = try client().refresh(initialRoot: roots[2])
    // Its keys did not sign the next root.
    #expect(try refusal(of: SampleMetadata().root(1)).code == .rootMismatch)
    #expect(try refusal(of: SampleMetadata().root(2)).code == .rootMismatch)
    // A withdrawn root that was replaced by another root with the same version.
    let withdrawn = try sample.rotating(.root).root(2, alsoSignedBy: sample)
    #expect(try refusal(of: withdrawn).code == .rootMismatch)
  }

  @Test func `an older root is refused if the store does not have the roots in between`() throws {
    let roots = try publishRoots(to: 4)
    _ = try client().refresh(initialRoot: roots[3])
    store.remove("metadata/3.root.json")
    #expect(try refusal(of: roots[0]).code == .rootMismatch)
    #expect(try client().refresh(initialRoot: roots[3]).version == 1)
  }

  @Test func `a newer root that is missing in the store, or is from another store, is refused`()
    throws
  {
    _ = try client().refresh(initialRoot: sample.root())
    let newer = try sample.root(3)
    #expect(try refusal(of: newer).code == .rootMismatch)
    let other = try SampleMetadata()
    store.put(["metadata/2.root.json": try other.root(2)])
    #expect(try refusal(of: other.root(2)).code == .rootMismatch)
    #expect(try refusal(of: newer).code == .rootMismatch)
  }

  @Test func `the error for a file that is not a root says so`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    #expect(try refusal(of: Array("no root".utf8)).code == .rootInvalid)
    #expect(try refusal(of: sample.targets()).code == .rootInvalid)
  }

  // MARK: Connected roots

  @Test func `an older root is accepted after the chain was followed once`()
    throws
  {
    let roots = try publishRoots(to: 4)
    _ = try client().refresh(initialRoot: roots[3])
    _ = store.takeFetched()
    let first = try client()
    _ = try first.refresh(initialRoot: roots[0])
    let walk = (2...4).map { "metadata/\($0).root.json" }
    #expect(store.takeFetched() == walk + usual(after: 4))
    _ = try first.refresh(initialRoot: roots[0])
    _ = try client().refresh(initialRoot: roots[0])
    #expect(store.takeFetched() == usual(after: 4) + usual(after: 4))
  }

  @Test func `a newer root is accepted if the chain leads to it`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    let roots = try publishRoots(to: 4)
    #expect(try client().refresh(initialRoot: roots[2]).version == 1)
    let kept = try folder.opened().contents(of: "root.json", limit: 1 << 20)
    #expect(kept == roots[3])
  }

  @Test func `the chain is not followed for the root of the first refresh, even after new roots`()
    throws
  {
    _ = try client().refresh(initialRoot: sample.root())
    let roots = try publishRoots(to: 3)
    let running = try client()
    _ = try running.refresh(initialRoot: roots[0])
    _ = store.takeFetched()
    _ = try running.refresh(initialRoot: roots[0])
    _ = try client().refresh(initialRoot: roots[0])
    #expect(store.takeFetched() == usual(after: 3) + usual(after: 3))
  }

  @Test func `a root that was accepted before is not accepted with another trusted root`() throws {
    _ = try client().refresh(initialRoot: sample.root())
    // The user switches to another store and keeps our other files.
    try folder.opened().removeFile("root.json")
    let other = try SampleMetadata()
    store.put(try other.publication().files)
    // This refresh fails after the new root was stored, before it is recorded.
    store.remove("metadata/timestamp.json")
    #expect(try refusal(of: other.root()).code == .storeMissing)
    #expect(try refusal(of: sample.root()).code == .rootMismatch)
  }

  @Test func `a network error on the chain is reported as such`() throws {
    let roots = try publishRoots(to: 3)
    _ = try client().refresh(initialRoot: roots[2])
    let offline = TrustClient(
      trustFolder: try folder.opened(), fetcher: Offline(), now: clock.read)
    #expect(try refusal(of: roots[0], offline).code == .hostNotFound)
  }
}

/// An unreachable store.
private struct Offline: MetadataFetcher {
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    throw ContentError(.hostNotFound, "The host has no address", remedy: "Check the network")
  }
}
