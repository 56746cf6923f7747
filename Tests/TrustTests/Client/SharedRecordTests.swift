import HostedConcurrency
import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

/// Snapshots of different refreshes that are used at the same time.
@Suite struct SharedRecordTests: ClientTests {
  let fixture: ClientFixture

  init() throws {
    fixture = try ClientFixture()
    store.put(try sample.publication().files)
  }

  @Test(.slow) func `snapshots of several refreshes keep the same record at the same time`() throws
  {
    let product: ProductIdentifier = "book"
    let client = try client()
    let root = try sample.root()
    let records = try (0..<400).map {
      try SampleCatalog.record(product, title: "Title \($0)").json
    }
    let work = try records.enumerated().map { number, bytes in
      RecordUse(
        targets: try client.refresh(initialRoot: root),
        file: TargetFile(length: Int64(bytes.count), digest: try Digest(of: bytes)), bytes: bytes,
        title: "Title \(number)")
    }
    let titles = try inParallel(work, workers: 8, portion: 1, context: {}) { use, _ -> Bool? in
      let record = try use.targets.record(of: product, use.file, known: use.bytes)
      return record.description.texts["en"]?.title == use.title
    }
    #expect(titles == [Bool](repeating: true, count: 400))
    // The last one is complete.
    let directory = try folder.opened().directory("records")
    let kept = try directory.contents(of: "book.json", limit: CatalogRecord.maximumLength)
    #expect(records.contains(kept))
    #expect(try directory.entries().count == 1)
  }
}

/// A record that a snapshot reads, and its expected title.
private struct RecordUse: Sendable {
  let targets: TrustedTargets
  let file: TargetFile
  let bytes: [UInt8]
  let title: String
}
