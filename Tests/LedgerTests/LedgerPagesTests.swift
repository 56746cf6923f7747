import HostedModel
import Foundation
import HostedShop
import HostedTestTraits
import HostedTestSupport
import Testing

@Suite("Pages of purchases and events", .waiting, .timeLimit(.hang))
struct LedgerPagesTests {
  /// Reads all pages of an account, and calls `afterPage` after each.
  private func pages(
    of ledger: Ledger, all: Bool, size: Int = 7, afterPage: (Int) throws -> Void = { _ in }
  ) throws -> [PurchaseRecord] {
    var records: [PurchaseRecord] = []
    var count = 0
    while true {
      let page = try ledger.purchases(
        account: "ann", after: records.last?.revision ?? 0, limit: size, all: all)
      guard !page.isEmpty else { return records }
      #expect(page.count <= size)
      records += page
      count += 1
      try afterPage(count)
    }
  }

  @Test(.slow, arguments: LedgerBackend.available)
  func `changes between pages neither skip nor repeat a purchase`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for number in 0..<30 {
      try ledger.buy(.of("t\(number)"))
      try ledger.buy(.of("other\(number)", account: "bob"))
    }
    let found = try pages(of: ledger, all: false) { page in
      switch page {
      // Read already, not read yet, both, and new.
      case 1: try ledger.decide("t2", .refund(reason: ""))
      case 2: try ledger.decide("t25", .revoke(reason: ""))
      case 3:
        try ledger.decide("t2", .reverse)
        try ledger.make(.finish(transaction: "t29"))
        try ledger.buy(.of("new"))
      default: break
      }
    }
    let revisions = found.map(\.revision)
    #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
    // The purchase that came back is read again at its new place.
    let expected = (0..<30).filter { $0 != 25 }.map { "t\($0)" } + ["t2", "new"]
    #expect(found.map(\.transaction) == expected)
    #expect(try pages(of: ledger, all: false).count == 30)
    #expect(try pages(of: ledger, all: true).count == 31)
  }

  @Test(arguments: LedgerBackend.available)
  func `a reader of the history gets every change of other servers`(backend: LedgerBackend) throws {
    let fixture = try LedgerFixture(backend)
    let writers = try (0..<2).map { _ in try fixture.ledger() }
    let reader = try fixture.ledger()
    let writing = Background {
      try onThreads(4) { thread in
        let ledger = writers[thread % 2]
        for number in 0..<15 {
          let transaction = "\(thread)-\(number)"
          try ledger.buy(.of(transaction))
          if number % 3 == 0 { try ledger.decide(transaction, .refund(reason: "")) }
          if number % 6 == 0 { try ledger.decide(transaction, .reverse) }
        }
      }
    }
    var known: [String: PurchaseRecord] = [:]
    var last: Int64 = 0
    while true {
      // Asked first, so that the last page is read after the last change.
      let wasDone = writing.isDone
      let page = try reader.purchases(account: "ann", after: last, limit: 5, all: true)
      for record in page {
        #expect(record.revision > last)
        last = record.revision
        known[record.transaction] = record
      }
      if page.isEmpty && wasDone { break }
    }
    try writing.check()
    let current = try pages(of: reader, all: true, size: 100)
    #expect(known.count == 60)
    #expect(known == Dictionary(uniqueKeysWithValues: current.map { ($0.transaction, $0) }))
  }

  @Test(arguments: LedgerBackend.available)
  func `events have the order of commits, and a reader misses none of two servers`(
    backend: LedgerBackend
  ) throws {
    let fixture = try LedgerFixture(backend)
    let writers = try (0..<2).map { _ in try fixture.ledger() }
    let reader = try fixture.ledger()
    let writing = Background {
      try onThreads(4) { thread in
        for number in 0..<20 {
          // Batches have different lengths, and some changes have no event.
          let changes = try (0...number % 4).flatMap { part -> [LedgerChange] in
            let transaction = "\(thread)-\(number)-\(part)"
            return [.purchase(try .of(transaction)), .finish(transaction: transaction)]
          }
          for result in try writers[thread % 2].commit(changes + [.publish], at: .sale) {
            _ = try result.get()
          }
        }
      }
    }
    var events: [LedgerEvent] = []
    while true {
      let wasDone = writing.isDone
      let page = try reader.events(after: events.last?.sequence ?? 0, limit: 6)
      events += page
      if page.isEmpty && wasDone { break }
    }
    try writing.check()
    let numbers = events.map(\.sequence)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    #expect(try reader.events(after: 0, limit: 10_000).map(\.sequence) == numbers)
    let sold = events.filter { $0.kind == .purchased }
    #expect(sold.count == 200)
    #expect(Set(sold.map { $0.purchase?.transaction }).count == 200)
    #expect(sold.allSatisfy { $0.sequence == $0.purchase?.sequence })
    #expect(events.filter { $0.kind == .published }.count == 80)
    #expect(events.allSatisfy { $0.kind != .published || $0.purchase == nil })
  }

  @Test(arguments: LedgerBackend.available)
  func `pruned events are not available, and the position says so`(backend: LedgerBackend) throws {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    let day = { (number: Int) in Date.sale.addingTimeInterval(86_400 * Double(number)) }
    for number in 0..<5 { try ledger.buy(.of("t\(number)"), at: day(number)) }
    let full = try #require(try ledger.head())
    let start = LedgerPosition(incarnation: full.incarnation, sequence: 0)
    #expect(full.has(start) && full.has(full.position))
    #expect(!full.has(LedgerPosition(incarnation: full.incarnation, sequence: full.last + 1)))
    #expect(!full.has(LedgerPosition(incarnation: "another", sequence: full.last)))
    #expect(!full.has(LedgerPosition(incarnation: full.incarnation, sequence: -1)))

    try ledger.pruneEvents(before: day(2), now: day(4))
    try ledger.pruneEvents(before: day(1), now: day(4))
    let head = try #require(try fixture.ledger().head())
    #expect(head.last == full.last)
    #expect(head.incarnation == full.incarnation)
    #expect(!head.has(start))
    let pruned = LedgerPosition(incarnation: head.incarnation, sequence: head.pruned)
    #expect(head.has(pruned) && head.has(head.position))
    let left = try ledger.events(after: head.pruned, limit: 10)
    #expect(left.map(\.purchase?.transaction) == ["t2", "t3", "t4"])
    #expect(left.map(\.date) == [day(2), day(3), day(4)])
    // Purchases stay forever.
    #expect(try ledger.owned("ann").count == 5)
  }

  @Test(arguments: LedgerBackend.available)
  func `a new event stays available although a later one has an older date`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let second = { (number: Int) in Date.sale.addingTimeInterval(Double(number)) }
    try ledger.buy(.of("t1"), at: second(2))
    try ledger.buy(.of("t2"), at: second(0))
    try ledger.pruneEvents(before: second(1), now: second(2))
    #expect(try ledger.head()?.pruned == 0)
    #expect(try ledger.events(after: 0, limit: 10).count == 2)
    try ledger.pruneEvents(before: second(3), now: second(3))
    #expect(try ledger.head()?.pruned == 2)
    #expect(try ledger.events(after: 0, limit: 10).isEmpty)
  }

  @Test(arguments: LedgerBackend.available)
  func `an event from a clock that was ahead does not keep later ones, and is not deleted early`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let day = { (number: Int) in Date.sale.addingTimeInterval(86_400 * Double(number)) }
    try ledger.buy(.of("t1"), at: day(1_000))
    for number in 1...3 { try ledger.buy(.of("t\(number + 1)"), at: day(number)) }
    try ledger.buy(.of("t5"), at: day(1_000))
    let left = { try ledger.events(after: 0, limit: 10).map(\.purchase?.transaction) }
    // The first event may be as new as the second one, which is not before day 1.
    try ledger.pruneEvents(before: day(1), now: day(3))
    #expect(try left() == ["t1", "t2", "t3", "t4", "t5"])
    try ledger.pruneEvents(before: day(3), now: day(4))
    #expect(try left() == ["t4", "t5"])
    try ledger.pruneEvents(before: day(4), now: day(5))
    #expect(try left() == ["t5"])
    #expect(try ledger.head()?.pruned == 4)
  }
}
