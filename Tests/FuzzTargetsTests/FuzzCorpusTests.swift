import HostedFileIO
import HostedFuzzTargets
import HostedTestSupport
import HostedTestTraits
import Testing

/// Replays the fuzzing corpus: the seeds and the findings.
@Suite(.long) struct FuzzCorpusTests {
  private func corpus(_ target: FuzzTarget) throws -> [String: [UInt8]] {
    let path = SourceTree.path("Fuzz/corpus/\(target.rawValue)")
    let folder = try FileSystem.real.directory(at: path)
    return try folder.entries().reduce(into: [:]) {
      $0[$1.name] = try folder.contents(of: $1.name, limit: 1 << 20)
    }
  }

  @Test(.slow, arguments: FuzzTarget.allCases)
  func `every file of the corpus is handled`(_ target: FuzzTarget) throws {
    let files = try corpus(target)
    #expect(!files.isEmpty)
    for (name, bytes) in files {
      #expect(target.feed(bytes) == nil, "\(name)")
      for length in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 200)) {
        #expect(target.feed(Array(bytes.prefix(length))) == nil, "\(name) cut after \(length)")
      }
    }
  }

  @Test func `the corpus has validly signed files, so that fuzzing gets past the signature check`()
    throws
  {
    #expect(try corpus(.metadata)["known-root.json"] == FuzzTarget.knownRoot)
    let receipts = try corpus(.receipt).values.map { String(decoding: $0, as: UTF8.self) }
    #expect(FuzzTarget.known.isSubset(of: receipts))
  }
}
