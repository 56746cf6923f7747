import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import Testing

@testable import AppUpdate

@Suite("Enterprise Partner Feed")
struct FeedTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static let header = [
    "#export_date\u{1}application_id\u{1}title\u{1}version", "#primaryKey:application_id",
    "#dbTypes:BIGINT\u{1}INTEGER\u{1}VARCHAR(1000)\u{1}VARCHAR(100)", "#exportMode:FULL",
    "##legal: Copyright\nof somebody",
  ]

  private func feed(
    _ rows: [[String]], footer: String? = nil, header: [String] = header, cut: Int = 0,
    chunk: Int = 1 << 20
  ) throws -> PartnerFeed {
    let lines = header + rows.map { $0.joined(separator: "\u{1}") } + [footer].compactMap(\.self)
    var bytes = lines.flatMap { Array("\($0)\u{2}\n".utf8) }
    bytes.removeLast(cut)
    try folder.directory.replaceFile("application", with: bytes)
    return PartnerFeed(path: folder.path("application"), fileSystem: .real, chunk: chunk)
  }

  private func row(_ number: Int) -> [String] {
    ["1768478400", "\(1000 + number)", "App \(number)\nwith a second line", "1.\(number)"]
  }

  private func read(_ feed: PartnerFeed) throws -> (PartnerFeed.Summary, [[String: String]]) {
    var rows: [[String: String]] = []
    let summary = try feed.forEachRow {
      rows.append($0.textsByColumn)
      return true
    }
    return (summary, rows)
  }

  @Test("Rows do not depend on the buffer size", arguments: 1...40)
  func seams(chunk: Int) throws {
    let feed = try feed((0..<5).map(row), footer: "#recordsWritten:5", chunk: chunk)
    let (summary, rows) = try read(feed)
    #expect(summary.columns == ["export_date", "application_id", "title", "version"])
    #expect(summary.rowCount == 5)
    #expect(summary.recordsWritten == 5)
    #expect(summary.isComplete)
    #expect(rows.map { $0["version"] } == (0..<5).map { "1.\($0)" })
    #expect(rows[3]["title"] == "App 3\nwith a second line")
  }

  @Test("Identifiers are found in one pass, which ends after the last one")
  func find() throws {
    let feed = try feed((0..<100).map(row), chunk: 64)
    let found = try feed.rows(where: "application_id", isIn: ["1007", "1093"])
    #expect(found.map { $0["version"] } == ["1.7", "1.93"])
    #expect(try feed.rows(where: "application_id", isIn: ["7"]).isEmpty)
    #expect(try feed.rows(where: "export_date", isIn: ["1768478400"]).count == 1)
    #expect(
      try feed.rows(where: "export_date", isIn: ["1768478400"], findsAllRows: true).count == 100)
    let stopped = try feed.forEachRow { _ in false }
    #expect(stopped.rowCount == 1)
    #expect(!stopped.isComplete)
  }

  @Test("Without values, the rest of the feed is not read")
  func noValues() throws {
    let feed = try feed((0..<3).map(row), cut: 1)
    #expect(try feed.rows(where: "application_id", isIn: []).isEmpty)
    #expect(code { try feed.rows(where: "application_id", isIn: ["x"]) } == .feedDamaged)
  }

  @Test("A value is found in any normal form of Unicode")
  func normalForms() throws {
    let feed = try feed([["1", "2", "Cafe\u{301}", "1.0"], ["1", "3", "Tea", "1.0"]])
    let found = try feed.rows(where: "title", isIn: ["Caf\u{e9}"], findsAllRows: true)
    #expect(found.map { $0["application_id"] } == ["2"])
  }

  @Test("Empty and missing fields are empty, and 0x02 alone does not end a row")
  func oddRows() throws {
    let feed = try feed([["", "", "a\u{2}b", ""], ["1"], []])
    let (summary, rows) = try read(feed)
    #expect(summary.rowCount == 3)
    #expect(rows[0]["title"] == "a\u{2}b")
    #expect(rows[1]["export_date"] == "1")
    #expect(rows[1]["version"] == "")
    #expect(rows[2]["export_date"] == "")
  }

  @Test("Fields without a column are omitted, and of two columns with one name, the last counts")
  func oddColumns() throws {
    let feed = try feed([["1", "2", "3", "4"], ["5"]], header: ["#a\u{1}b\u{1}a"])
    #expect(try read(feed).1 == [["a": "3", "b": "2"], ["a": "", "b": ""]])
  }

  @Test("A truncated feed, and a feed with a wrong number of rows, are damaged")
  func damaged() throws {
    for cut in [1, 2, 3, 10] {
      let feed = try feed((0..<3).map(row), cut: cut)
      #expect(code { try read(feed) } == .feedDamaged, "\(cut)")
    }
    let short = try feed((0..<3).map(row), footer: "#recordsWritten:4")
    #expect(code { try read(short) } == .feedDamaged)
    let noColumn = try feed([row(1)])
    #expect(code { try noColumn.rows(where: "bundle_id", isIn: ["x"]) } == .feedDamaged)
    let noHeader = try feed([row(1)], header: [])
    #expect(code { try noHeader.rows(where: "application_id", isIn: ["1"]) } == .feedDamaged)
    let missing = try PartnerFeed(url: URL(filePath: folder.path("missing")))
    #expect(code { try read(missing) } == .fileMissing)
  }

  @Test("A column that does not exist is an error, also in a feed without rows")
  func columnWithoutRows() throws {
    let feed = try feed([], footer: "#recordsWritten:0")
    #expect(try feed.rows(where: "application_id", isIn: ["1"]).isEmpty)
    #expect(code { try feed.rows(where: "aplication_id", isIn: ["1"]) } == .feedDamaged)
  }

  @Test("A file without rows is read in bounded memory and refused")
  func noRows() throws {
    let bytes = [UInt8](repeating: 0x61, count: PartnerFeed.rowLimit + 1)
    try folder.directory.replaceFile("application", with: bytes)
    let feed = try PartnerFeed(url: URL(filePath: folder.path("application")))
    #expect(code { try read(feed) } == .feedDamaged)
    try folder.directory.replaceFile("application", with: [])
    #expect(try read(feed).0.rowCount == 0)
  }

  @Test(
    "A row of the maximum length is read, even if a chunk ends inside its terminator",
    arguments: 0...2)
  func longestRow(terminatorInChunk: Int) throws {
    let bytes = [UInt8](repeating: 0x61, count: PartnerFeed.rowLimit) + [0x02, 0x0a]
    try folder.directory.replaceFile("application", with: bytes)
    let feed = PartnerFeed(
      path: folder.path("application"), chunk: PartnerFeed.rowLimit + terminatorInChunk)
    #expect(try feed.forEachRow { _ in true }.rowCount == 1)
  }

  @Test("A feed needs a file URL")
  func fileURL() throws {
    let url = try link("https://feed.example/application")
    #expect(code { try PartnerFeed(url: url) } == .usage)
  }

  @Test("Random feeds are read back unchanged")
  func random() throws {
    var random = SplitMix(state: 11)
    let alphabet: [String] = ["a", "ü", "\n", "\u{2}", " ", "#", "0"]
    for _ in 0..<60 {
      let rows = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        ["x"]
          + (0..<3).map { _ in
            (0..<Int.random(in: 0...5, using: &random))
              .map { _ in alphabet.randomElement(using: &random) ?? "" }.joined()
          }
      }
      // A terminator inside a text looks like the end of a row. The format has no escape for it.
      let isClear = rows.allSatisfy { $0.allSatisfy { !$0.contains("\u{2}\n") } }
      guard isClear else { continue }
      let feed = try feed(rows, chunk: Int.random(in: 1...30, using: &random))
      let names = ["export_date", "application_id", "title", "version"]
      #expect(try read(feed).1.map { row in names.map { row[$0] } } == rows)
    }
  }
}
