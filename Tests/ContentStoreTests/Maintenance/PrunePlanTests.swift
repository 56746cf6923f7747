import HostedModel
import HostedTrust
import FoundationEssentials
import Testing

@testable import ContentStore

/// Which files a plan removes, for a listing without a disk.
@Suite("Plans to prune a store")
struct PrunePlanTests {
  private static let digest = String(repeating: "0a", count: 32)
  private static let start = Date(timeIntervalSince1970: 1_000)

  private func file(_ path: String, bytes: Int64 = 0, modified: Double = 1) -> StoreFile {
    StoreFile(path: path, bytes: bytes, modified: Date(timeIntervalSince1970: modified))
  }

  private func catalog(_ version: Int64, _ bytes: Int = 0) throws -> CatalogVersion {
    CatalogVersion(
      snapshot: version,
      targets: try MetadataFile(
        version: version, bytes: [UInt8](repeating: 0, count: bytes)), written: Self.start)
  }

  /// Returns the plan for a store with the current version 4, of which 3 is kept, too.
  private func plan(
    metadata: [StoreFile] = [], targets: [StoreFile] = [], others: [String] = [],
    foreign: Set<String> = [], bins: Set<String> = [], references: Set<String>? = [],
    signed: Set<Int64> = []
  ) throws -> PrunePlan {
    var survey = StoreSurvey()
    (survey.metadata, survey.targets, survey.others) = (metadata, targets, others)
    let kept = PrunePlan.Kept(
      snapshot: 4, targets: 4, catalogs: [try catalog(3), try catalog(4)],
      others: [try catalog(1, 10), try catalog(2, 10)], foreign: foreign, bins: bins,
      references: references, start: Self.start)
    return PrunePlan(survey, kept) { _, version in signed.contains(version) }
  }

  @Test("Snapshots and targets of catalogs that are not kept are removed, and nothing else")
  func metadata() throws {
    let names = ["snapshot", "targets"].flatMap { role in (1...5).map { "\($0).\(role).json" } }
    let files = (names + ["1.root.json", "2.root.json", "timestamp.json"]).map {
      file("metadata/\($0)", bytes: 10, modified: 2_000)
    }
    let plan = try plan(metadata: files)
    #expect(
      plan.files.map(\.path) == [
        "metadata/1.snapshot.json", "metadata/2.snapshot.json", "metadata/1.targets.json",
        "metadata/2.targets.json",
      ])
    #expect(plan.unknown.isEmpty)
  }

  @Test("Targets metadata that no snapshot lists is removed if it is old and signed")
  func orphans() throws {
    let paths = { (plan: PrunePlan) in plan.files.map(\.path) }
    // Another length than version 2 of the catalog: it is not the listed file.
    let old = [file("metadata/2.targets.json", bytes: 9)]
    #expect(try paths(plan(metadata: old, signed: [2])) == ["metadata/2.targets.json"])
    let foreign = try plan(metadata: old)
    #expect(foreign.files.isEmpty && foreign.unknown == ["metadata/2.targets.json"])
    let new = [file("metadata/2.targets.json", bytes: 9, modified: 1_000)]
    #expect(try paths(plan(metadata: new, signed: [2])) == [])
  }

  @Test("Bins that no kept catalog uses are removed if they are old and signed")
  func bins() throws {
    let names = (1...5).flatMap { version in
      ["bin-0", "bin-0f"].map { "metadata/\(version).\($0).json" }
    }
    let kept: Set = ["metadata/2.bin-0.json"]
    // A bin has the number of a snapshot: 4 and 5 may belong to the current or the next catalog.
    let removed = [
      "metadata/1.bin-0.json", "metadata/1.bin-0f.json", "metadata/2.bin-0f.json",
      "metadata/3.bin-0.json", "metadata/3.bin-0f.json",
    ]
    let files = names.map { file($0) }
    let signed = try plan(metadata: files, bins: kept, references: nil, signed: [1, 2, 3, 4, 5])
    #expect(signed.files.map(\.path) == removed && signed.unknown.isEmpty)
    let foreign = try plan(metadata: files, bins: kept)
    #expect(foreign.files.isEmpty && foreign.unknown == removed)
    let new = names.map { file($0, modified: 1_000) }
    let later = try plan(metadata: new, bins: kept, signed: [1, 2, 3, 4, 5])
    #expect(later.files.isEmpty && later.unknown.isEmpty)
  }

  @Test("A records file is removed if no kept catalog lists it and it is not new")
  func records() throws {
    let path = "metadata/\(Self.digest).records.jsonl"
    #expect(try plan(metadata: [file(path)]).files.map(\.path) == [path])
    #expect(try plan(metadata: [file(path)], references: [path]).files.isEmpty)
    #expect(try plan(metadata: [file(path)], references: nil).files.isEmpty)
    #expect(try plan(metadata: [file(path, modified: 1_000)]).files.isEmpty)
  }

  @Test("What lists a file is removed before the file")
  func order() throws {
    let removed = [
      "metadata/2.snapshot.json", "metadata/2.targets.json", "metadata/2.bin-0.json",
      "metadata/\(Self.digest).records.jsonl", "targets/a/\(Self.digest).product.json",
    ]
    let files = removed.map { file($0, bytes: 10) }
    let plan = try plan(metadata: files.dropLast().reversed(), targets: [files[4]], signed: [2])
    #expect(plan.files.map(\.path) == removed)
    #expect(plan.metadata.map(\.count) == [1, 1, 1, 1])
  }

  @Test("Files with other names and foreign snapshots are listed, and not removed")
  func unknown() throws {
    let metadata = [
      "01.targets.json", "1.targets.json.bak", "-1.snapshot.json", "1.mirrors.json", "notes.txt",
      "2.snapshot.json", "01.bin-0.json", "1.bin-.json", "1.bin-0F.json", "1.bin-g.json",
      "bin-0.json", "1.bin-000000000.json", "\(Self.digest.uppercased()).records.jsonl",
      "\(Self.digest).records.json", "records.jsonl",
    ].map { file("metadata/\($0)") }
    let targets = [
      "\(Self.digest).product.json", "a/\(Self.digest).content.pkg", "a/1/content.pkg",
      "a/1/\(Self.digest.uppercased()).content.pkg", "a/x/\(Self.digest).content.pkg",
      "a/1/b/c/\(Self.digest).content.pkg", "a b/\(Self.digest).product.json", "a/readme.txt",
    ].map { file("targets/\($0)") }
    let plan = try plan(
      metadata: metadata, targets: targets, others: ["targets/link"],
      foreign: ["metadata/2.snapshot.json"])
    #expect(plan.files.isEmpty)
    #expect(Set(plan.unknown) == Set((metadata + targets).map(\.path) + ["targets/link"]))
  }

  @Test("A target file is removed if no kept catalog lists it and it is not new")
  func targets() throws {
    let names = [
      "a/\(Self.digest).product.json", "a/1/\(Self.digest).content.pkg",
      "a/1/\(Self.digest).content.index", "a/1/b/\(Self.digest).content.pkg",
    ]
    let files = names.map { file("targets/\($0)") }
    #expect(try plan(targets: files).files == files)
    #expect(try plan(targets: files, references: [files[1].path]).files.count == 3)
    #expect(try plan(targets: files, references: nil).files.isEmpty)
    let new = names.map { file("targets/\($0)", modified: 1_000) }
    #expect(try plan(targets: new).files.isEmpty)
  }
}
