import HostedModel
import HostedTrust
import HostedFileIO
import HostedContent
import HostedTestSupport

/// A store in memory, and the folder and clock of its clients.
struct ClientFixture {
  let sample: SampleMetadata
  let store = StoreInMemory()
  let folder: TemporaryFolder
  let clock: TestClock

  init() throws {
    sample = try SampleMetadata()
    folder = try TemporaryFolder()
    clock = TestClock(sample.now)
  }
}

/// Tests of clients of a store in memory.
protocol ClientTests {
  var fixture: ClientFixture { get }
}

extension ClientTests {
  var sample: SampleMetadata { fixture.sample }
  var store: StoreInMemory { fixture.store }
  var folder: TemporaryFolder { fixture.folder }
  var clock: TestClock { fixture.clock }

  /// Returns a client as a new process creates it.
  func client(_ fileSystem: FileSystem = .real) throws -> TrustClient {
    TrustClient(trustFolder: try folder.opened(fileSystem), fetcher: store, now: clock.read)
  }

  /// Returns a catalog that keeps its files in the folder `trust`.
  func catalog(_ trust: String = "trust") throws -> Catalog {
    let client = TrustClient(
      trustFolder: try folder.opened().createDirectory(trust), fetcher: store, now: clock.read)
    return Catalog(client: client, trustedRoot: try sample.root())
  }
}

extension TrustedTargets {
  /// Fetches and verifies the listed file `name`.
  func fetchTarget(_ name: String, limit: Int64 = 1 << 20) throws -> [UInt8] {
    guard let file = targets[name] else {
      throw ContentError(.storeMissing, "\(name) is not listed", remedy: "List it", subject: name)
    }
    return try fetch(name, file, at: path(of: name, file), limit: limit)
  }
}
