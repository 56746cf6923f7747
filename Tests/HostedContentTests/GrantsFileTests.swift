import ContentModel
import FileIO
import Foundation
import Locks
import TestSupport
import Testing

@testable import HostedContent

@Suite("The grants file")
struct GrantsFileTests {
  private static let name = "grants.json"

  private static func grant(_ id: String, account: String? = nil) throws -> Grant {
    Grant(
      transactionIdentifier: id, date: 1,
      payment: Payment(
        productIdentifier: try ProductIdentifier("a"), applicationUsername: account))
  }

  private func append(_ text: String, _ folder: TemporaryFolder) throws {
    let file = try FileHandle(forWritingTo: URL(filePath: folder.path(Self.name)))
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  @Test("Two that share the file see each other's grants, and each grant is given once")
  func sharing() throws {
    let folder = try TemporaryFolder()
    let files = try (0..<2).map { _ in try GrantsFile(Self.name, in: folder.opened()) }
    for number in 0..<20 {
      let grant = try Self.grant("t\(number)", account: number % 3 == 0 ? "ann" : nil)
      #expect(
        try files[number % 2].grant([grant]) == [grant])
    }
    let other = try Self.grant("t7", account: "bob")
    #expect(try files[0].grant([other]) == [Self.grant("t7")])
    for file in files {
      #expect(try file.grants(account: "ann").count == 7)
      #expect(try file.grants(account: nil).count == 13)
      #expect(try file.grants(account: "bob").isEmpty)
    }
  }

  @Test("Grants that are given together are synced together, and each is given once")
  func together() throws {
    let folder = try TemporaryFolder()
    _ = try GrantsFile(Self.name, in: folder.opened()).grant([Self.grant("t1", account: "ann")])
    let syncs = Mutex(0)
    let file = try GrantsFile(
      Self.name,
      in: try folder.opened(
        FileSystem { operation, _ in if operation == .sync { syncs.withLock { $0 += 1 } } }))
    let asked = try ["t1", "t2", "t3", "t2"].map { try Self.grant($0) }
    let given = try file.grant(asked)
    #expect(given.map(\.transactionIdentifier) == asked.map(\.transactionIdentifier))
    #expect(try given.first == Self.grant("t1", account: "ann"))
    #expect(syncs.withLock { $0 } == 1)
    #expect(try file.grants(account: nil).map(\.transactionIdentifier) == ["t2", "t3"])
  }

  @Test("A line that a crash tore off was never granted, and the next grant takes its place")
  func tornLine() throws {
    let folder = try TemporaryFolder()
    let file = try GrantsFile(Self.name, in: folder.opened())
    _ = try file.grant([Self.grant("t1")])
    try append(#"{"date":1,"payment":{"pro"#, folder)
    #expect(try file.grants(account: nil).map(\.transactionIdentifier) == ["t1"])
    _ = try file.grant([Self.grant("t2")])
    let fresh = try GrantsFile(Self.name, in: folder.opened())
    #expect(try fresh.grants(account: nil).map(\.transactionIdentifier) == ["t1", "t2"])
  }

  @Test("A damaged line is an error that names the file, and nothing is granted over it")
  func damagedLine() throws {
    let folder = try TemporaryFolder()
    let file = try GrantsFile(Self.name, in: folder.opened())
    _ = try file.grant([Self.grant("t1")])
    try append("nonsense\n", folder)
    for _ in 0..<2 {
      let error = #expect(throws: ContentError.self) { try file.grants(account: nil) }
      #expect(error?.code == .storeDamaged)
      #expect(throws: ContentError.self) {
        try file.grant([Self.grant("t2")])
      }
    }
  }

  @Test(
    "A file that is not a grants file is refused, and nothing is granted over it",
    arguments: ["bread, milk, eggs", #"{"bread":1}"#, "{}", "bread\nmilk"])
  func otherFile(text: String) throws {
    let folder = try TemporaryFolder()
    try Data(text.utf8).write(to: URL(filePath: folder.path(Self.name)))
    let file = try GrantsFile(Self.name, in: folder.opened())
    let error = #expect(throws: ContentError.self) { try file.grants(account: nil) }
    #expect(error?.code == .storeDamaged)
    #expect(throws: ContentError.self) { try file.grant([Self.grant("t")]) }
    #expect(try String(contentsOfFile: folder.path(Self.name), encoding: .utf8) == text)
  }

  @Test("Another file in its place is read anew, and none is no grants")
  func replaced() throws {
    let folder = try TemporaryFolder()
    let file = try GrantsFile(Self.name, in: folder.opened())
    _ = try file.grant([Self.grant("t1")])
    let kept = try Data(contentsOf: URL(filePath: folder.path(Self.name)))
    try FileManager.default.removeItem(atPath: folder.path(Self.name))
    #expect(try file.grants(account: nil).isEmpty)
    try (kept + kept).write(to: URL(filePath: folder.path(Self.name)))
    #expect(try file.grants(account: nil).count == 2)
  }

  @Test("Whatever step fails, asked again the grant is given, once")
  func faults() throws {
    var isDone = false
    var step = 0
    while !isDone {
      step += 1
      let folder = try TemporaryFolder()
      let before = try GrantsFile(Self.name, in: folder.opened())
      _ = try before.grant([Self.grant("t1")])
      let plan = FaultPlan(failing: step)
      let failing = try? GrantsFile(Self.name, in: folder.opened(plan.fileSystem))
      let granted = try? failing?.grant([Self.grant("t2")])
      #expect((granted == nil) == plan.hasFired, "step \(step)")
      isDone = !plan.hasFired
      let file = try failing ?? GrantsFile(Self.name, in: folder.opened())
      if !isDone { _ = try file.grant([Self.grant("t2")]) }
      let fresh = try GrantsFile(Self.name, in: folder.opened())
      #expect(try fresh.grants(account: nil).map(\.transactionIdentifier) == ["t1", "t2"])
    }
    #expect(step > 5)
  }
}
