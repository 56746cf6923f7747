import ContentTrust
import FoundationEssentials
import Testing

@testable import ContentStore

/// Which files a plan removes, for a listing without a disk.
@Suite("Plans to prune a store")
struct PrunePlanTests {
  private static let digest = String(repeating: "0a", count: 32)
  private static let start = Date(timeIntervalSince1970: 1_000)

  private func file(_ path: String, bytes: Int64 = 0, modified: Double = 1) -> StoreFile {
    StoreFile(path: path, bytes: bytes, modified: modified)
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
    foreign: Set<String> = [], references: Set<String>? = [], signed: Set<Int64> = []
  ) throws -> PrunePlan {
    var survey = StoreSurvey()
    (survey.metadata, survey.targets, survey.others) = (metadata, targets, others)
    let kept = PrunePlan.Kept(
      snapshot: 4, targets: 4, catalogs: [try catalog(3), try catalog(4)],
      others: [try catalog(1, 10), try catalog(2, 10)], foreign: foreign, references: references,
      start: Self.start)
    return PrunePlan(survey, kept) { signed.contains($0) }
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

  @Test("Files with other names and foreign snapshots are listed, and not removed")
  func unknown() throws {
    let metadata = [
      "01.targets.json", "1.targets.json.bak", "-1.snapshot.json", "1.mirrors.json", "notes.txt",
      "2.snapshot.json",
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
