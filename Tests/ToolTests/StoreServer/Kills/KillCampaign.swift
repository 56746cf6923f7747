import Dispatch
import Foundation
import HostedTestSupport
import Testing

/// Kills one store server again and again while buyers use it, and then examines its ledger.
///
/// Blocks. Failures are in the book.
struct KillCampaign {
  let place: SellingPlace
  let book: SalesBook
  private var random: SplitMix

  private static let singleBuyers = 16
  /// Each has 64 purchases in progress.
  private static let batchBuyers = 24
  private static let libraryBuyers = 3
  /// The latest moment of a kill, in microseconds after the server listens.
  private static let latestKill: UInt32 = 1_500_000
  private static let latestStartKill: UInt32 = 300_000

  init(_ database: ServerDatabase, seed: UInt64) throws {
    let postgres = try database == .postgres ? PostgresServer() : nil
    place = try SellingPlace(productCount: 4, postgres: postgres)
    book = SalesBook(seed: seed)
    random = SplitMix(state: seed)
  }

  mutating func run(rounds: Int) throws {
    var server = try place.start()
    let client = PersistentClient(place, book)
    guard let answer = client.answer("GET", "/v1/events"),
      let start = answer.object["cursor"] as? String
    else { return book.fail("The server returns no cursor") }
    let usual = try measureClient()
    let watcher = EventWatcher(place: place, book: book, start: start)
    let watching = begin([{ watcher.run() }])
    let buying = begin(buyers(usual))
    do {
      for round in 1...rounds {
        book.begin(round: round)
        usleep(UInt32.random(in: 0...Self.latestKill, using: &random))
        server = try killed(server)
        if !book.failures.isEmpty { break }
      }
    } catch {
      book.fail("\(error)")
      book.enter(.aborted)
    }
    book.enter(.finishing)
    buying.wait()
    book.enter(.over)
    watching.wait()
    // After a failure, some purchases may not be complete.
    if book.failures.isEmpty {
      try LedgerCheck(place: place, book: book).run(client, start: start, &random)
    }
    guard book.failures.isEmpty else { return book.fail("The server says: \(server.log)") }
    let status = server.stop()
    if status != 0 { book.fail("The server ended with status \(status): \(server.log)") }
  }

  /// Returns how long a client takes to buy and install everything, in microseconds.
  private func measureClient() throws -> UInt32 {
    let account = "\(LibraryBuyer.prefix)first"
    let words = ["get"] + place.products + ["--library", "first", "--account", account]
    let begin = ContinuousClock.now
    try place.tool.succeed(words + place.common)
    return UInt32(clamping: Int((ContinuousClock.now - begin) / .microseconds(1)))
  }

  private mutating func buyers(_ usual: UInt32) -> [@Sendable () -> Void] {
    var bodies: [@Sendable () -> Void] = []
    for number in 1...Self.singleBuyers {
      let buyer = SingleBuyer(place: place, book: book, number: number, seed: random.next())
      bodies.append { buyer.run() }
    }
    for number in 1...Self.batchBuyers {
      let buyer = BatchBuyer(place: place, book: book, number: number, seed: random.next())
      bodies.append { buyer.run() }
    }
    for number in 1...Self.libraryBuyers {
      let buyer = LibraryBuyer(
        place: place, book: book, number: number, seed: random.next(), usual: usual)
      bodies.append { buyer.run() }
    }
    let checker = AnswerChecker(place: place, book: book, seed: random.next())
    bodies.append { checker.run() }
    return bodies
  }

  /// Runs each body on its own thread.
  private func begin(_ bodies: [@Sendable () -> Void]) -> DispatchGroup {
    let threads = DispatchGroup()
    for body in bodies {
      threads.enter()
      Thread.detachNewThread {
        body()
        threads.leave()
      }
    }
    return threads
  }

  /// Kills the server or its database, and returns the server that runs afterwards.
  private mutating func killed(_ server: SellingProcess) throws -> SellingProcess {
    if let postgres = place.postgres, Bool.random(using: &random) {
      // Like `pg_ctl restart -m immediate`.
      postgres.stop(SIGQUIT)
      try postgres.start()
      book.count { $0.databaseKills += 1 }
      return server
    }
    server.process.kill(SIGKILL)
    server.process.waitUntilExit()
    book.count { $0.serverKills += 1 }
    if Int.random(in: 0..<4, using: &random) == 0 {
      try place.killDuringStart(
        after: UInt32.random(in: 0...Self.latestStartKill, using: &random))
      book.count { $0.startKills += 1 }
    }
    return try place.start()
  }
}

/// Compares a ledger with what its server has answered and reported.
struct LedgerCheck {
  let place: SellingPlace
  let book: SalesBook

  private static let threads = 8

  func run(_ client: PersistentClient, start: String, _ random: inout SplitMix) throws {
    let rows = try place.rows()
    checkRows(rows)
    checkReaders(rows)
    checkEvents(rows, client, start, &random)
    try checkDocuments()
  }

  /// The ledger has one row for each purchase that was begun, with its answer, and no others.
  private func checkRows(_ rows: [SellingPlace.Row]) {
    let sales = book.sales
    var found: Set<String> = []
    for row in rows {
      if !found.insert(row.transaction).inserted {
        book.fail("\(row.transaction) is in the ledger twice")
      }
      if row.account.hasPrefix(LibraryBuyer.prefix) { continue }
      guard let sale = sales[row.transaction] else {
        book.fail("No client asked for \(row)")
        continue
      }
      let isSame =
        row.account == sale.account && row.product == sale.product && row.state == "purchased"
        && (row.isFinished || !sale.isFinished)
      if !isSame { book.fail("The ledger has \(row), but the book has \(sale)") }
    }
    for sale in sales.values where !found.contains(sale.key) {
      book.fail("\(sale.key) is lost; it was answered \(sale.answer ?? "never")")
    }
  }

  /// Each library client has bought each product once, and all of its purchases are finished.
  private func checkReaders(_ rows: [SellingPlace.Row]) {
    let readers = Dictionary(
      grouping: rows.filter { $0.account.hasPrefix(LibraryBuyer.prefix) }, by: \.account)
    for account in book.readers {
      let rows = readers[account] ?? []
      let isComplete =
        rows.map(\.product).sorted() == place.products.sorted()
        && rows.allSatisfy { $0.state == "purchased" && $0.isFinished }
      if !isComplete { book.fail("\(account) has the purchases \(rows)") }
    }
    // The first account was only used to measure.
    let others = Set(readers.keys).subtracting(book.readers)
    if others != ["\(LibraryBuyer.prefix)first"] {
      book.fail("These accounts are not complete: \(others.sorted())")
    }
  }

  /// Each purchase was reported once, in the order of the ledger, and is still reported so.
  private func checkEvents(
    _ rows: [SellingPlace.Row], _ client: PersistentClient, _ start: String,
    _ random: inout SplitMix
  ) {
    let watched = book.events
    guard let events = client.allEvents(after: start) else { return }
    let expected = rows.map(\.transaction)
    for (name, list) in [("watched", watched), ("read at the end", events)] {
      let reported = list.map(\.transaction)
      if reported != expected {
        let index = zip(reported, expected).enumerated()
          .first { $0.element.0 != $0.element.1 }?.offset
        book.fail(
          "Of \(expected.count) purchases, \(reported.count) events were \(name), and "
            + "\(Set(reported).count) of them for different ones; first difference: "
            + (index.map { "\(list[$0]) instead of \(expected[$0])" } ?? "at the end"))
      }
    }
    if watched != events { book.fail("Events had other cursors or kinds when they were watched") }
    if let other = events.first(where: { $0.kind != "purchased" }) {
      book.fail("The event \(other) has another kind")
    }
    // Any cursor continues directly after its event.
    for _ in 0..<20 where events.count > 1 {
      let index = Int.random(in: 1..<events.count, using: &random)
      guard let next = client.events(after: events[index - 1].cursor, limit: 1) else { return }
      if next.events != [events[index]] {
        book.fail("After \(events[index - 1]) comes \(next.events), not \(events[index])")
      }
    }
  }

  /// The server still has the document of each answer.
  private func checkDocuments() throws {
    let sales = Array(book.sales.values)
    _ = try onThreads(Self.threads) { [place, book] thread in
      let client = PersistentClient(place, book)
      for index in stride(from: thread, to: sales.count, by: Self.threads) {
        let sale = sales[index]
        guard let answer = client.answer("GET", "/v1/purchases/\(sale.key)") else { return }
        let document = SalesBook.document(answer.object)
        if answer.status != 200 || document != sale.answer {
          book.fail(
            "\(sale.key) has changed.\nAnswered: \(sale.answer ?? "never")\n"
              + "Now: \(answer.status) \(document)")
        }
        if book.phase == .aborted { return }
      }
    }
  }
}
