import Foundation
import HostedTestSupport

/// Sends each request until it is answered, also by a server that is killed; for one thread.
final class PersistentClient {
  let place: SellingPlace
  let book: SalesBook
  private var connection: StoreConnection?

  /// How long a request or a command may take with all its repetitions.
  static let limit: Duration = .seconds(600)

  init(_ place: SellingPlace, _ book: SalesBook) {
    self.place = place
    self.book = book
  }

  /// Returns the first answer with another status than `retried`.
  ///
  /// Calls `onInterruption` after each attempt that the server may have received and that has not
  /// this answer. Returns nil if the campaign is aborted.
  func answer(
    _ method: String, _ target: String, key: String? = nil, body: String = "",
    retried: Set<Int> = [503], onInterruption: () -> Void = {}
  ) -> APIClient.Response? {
    let deadline = ContinuousClock.now + Self.limit
    var last = ""
    while book.phase != .aborted {
      do {
        let open = try connection ?? place.connect()
        connection = open
        let answer = try open.call(method, target, key: key, body: body)
        guard retried.contains(answer.status) else { return answer }
        last = "\(answer.status) \(answer.body)"
        onInterruption()
      } catch {
        connection = nil
        last = "\(error)"
        if error as? APIClient.End != .refused { onInterruption() }
      }
      guard ContinuousClock.now < deadline else {
        book.fail("\(method) \(target) \(key ?? "") has no answer: \(last)")
        return nil
      }
      // The server may be starting.
      usleep(2_000)
    }
    return nil
  }

  /// Buys until the purchase is recorded in the book; returns false if the campaign is aborted.
  func buy(_ sale: SalesBook.Sale) -> Bool {
    let body = place.order(of: sale.product, account: sale.account)
    // 409: the server still processes the interrupted request.
    let answer = answer(
      "POST", "/v1/purchases", key: sale.key, body: body, retried: [409, 503]
    ) { book.interrupt([sale.key]) }
    guard let answer else { return false }
    guard [200, 201].contains(answer.status) else {
      book.fail("\(sale.key) was answered \(answer.status) \(answer.body)")
      return false
    }
    book.record(sale.key, status: answer.status, answer.object)
    return true
  }

  /// The maximum number of purchases in a request.
  static let batchSize = 64

  /// Buys with one request, and with others for what it does not decide.
  ///
  /// Returns false if the campaign is aborted.
  func buy(_ sales: [SalesBook.Sale]) -> Bool {
    var waiting = sales
    while true {
      guard let undecided = buyOnce(waiting) else { return false }
      if undecided.isEmpty { return true }
      waiting = undecided
      // They are still processed.
      usleep(2_000)
    }
  }

  /// Returns the purchases that must be asked for again; nil after a failure.
  private func buyOnce(_ sales: [SalesBook.Sale]) -> [SalesBook.Sale]? {
    let keys = sales.map(\.key)
    let orders = sales.map {
      place.order(of: $0.product, account: $0.account, transaction: $0.key)
    }
    let body = "{\"purchases\": [\(orders.joined(separator: ", "))]}"
    let answer = answer("POST", "/v1/purchases:batch", body: body) { book.interrupt(keys) }
    guard let answer else { return nil }
    let results = answer.object["results"] as? [[String: Any]] ?? []
    guard answer.status == 200, results.count == sales.count else {
      book.fail("a batch of \(keys): \(answer.status) \(answer.body.prefix(1_000))")
      return nil
    }
    var undecided: [SalesBook.Sale] = []
    for (sale, result) in zip(sales, results) {
      let status = result["status"] as? Int ?? 0
      switch status {
      case 200, 201:
        book.record(sale.key, status: status, result["purchase"] as? [String: Any] ?? [:])
      case 409, 503:
        book.interrupt([sale.key])
        undecided.append(sale)
      default:
        book.fail("\(sale.key) in a batch: \(result)")
        return nil
      }
    }
    return undecided
  }

  /// Returns the events after a cursor, and the cursor after them; nil after a failure.
  func events(
    after cursor: String, wait: Int = 0, limit: Int = 200
  ) -> (events: [SalesBook.Event], cursor: String)? {
    let target = "/v1/events?after=\(cursor)&wait=\(wait)&limit=\(limit)"
    guard let answer = answer("GET", target) else { return nil }
    guard answer.status == 200, let list = answer.object["events"] as? [[String: Any]],
      let next = answer.object["cursor"] as? String
    else {
      book.fail("GET \(target) was answered \(answer.status) \(answer.body.prefix(1_000))")
      return nil
    }
    let events = list.map { event in
      SalesBook.Event(
        cursor: event["cursor"] as? String ?? "", kind: event["kind"] as? String ?? "",
        transaction: event["transaction"] as? String ?? "")
    }
    return (events, next)
  }

  /// Returns all events after a cursor; nil after a failure.
  func allEvents(after cursor: String) -> [SalesBook.Event]? {
    var all: [SalesBook.Event] = []
    var position = cursor
    while true {
      guard let page = events(after: position) else { return nil }
      if page.events.isEmpty { return all }
      all += page.events
      position = page.cursor
    }
  }
}

/// Buys one product after the other over one connection, and finishes some.
struct SingleBuyer: Sendable {
  let place: SellingPlace
  let book: SalesBook
  let number: Int
  let seed: UInt64

  func run() {
    let client = PersistentClient(place, book)
    var random = SplitMix(state: seed)
    var count = 0
    while book.phase == .selling {
      count += 1
      let product = place.products.randomElement(using: &random) ?? ""
      let sale = book.begin(
        "single-\(number)-\(count)", of: product, for: "single-\(number)-\(count)")
      guard client.buy(sale) else { return }
      if Int.random(in: 0..<4, using: &random) == 0 {
        let finish = client.answer("POST", "/v1/purchases/\(sale.key)/finish")
        guard let finish else { return }
        guard finish.status == 204 else {
          return book.fail("finish of \(sale.key): \(finish.status) \(finish.body)")
        }
        book.finish(sale.key)
      }
    }
  }
}

/// Buys 64 products with each request.
struct BatchBuyer: Sendable {
  let place: SellingPlace
  let book: SalesBook
  let number: Int
  let seed: UInt64

  func run() {
    let client = PersistentClient(place, book)
    var random = SplitMix(state: seed)
    var count = 0
    while book.phase == .selling {
      var sales: [SalesBook.Sale] = []
      while sales.count < PersistentClient.batchSize {
        count += 1
        let product = place.products.randomElement(using: &random) ?? ""
        sales.append(
          book.begin("batch-\(number)-\(count)", of: product, for: "batch-\(number)-\(count)"))
      }
      guard client.buy(sales) else { return }
    }
  }
}

/// Asks again for purchases that were answered, mostly for the last ones, which a kill could lose.
struct AnswerChecker: Sendable {
  let place: SellingPlace
  let book: SalesBook
  let seed: UInt64

  func run() {
    let client = PersistentClient(place, book)
    var random = SplitMix(state: seed)
    while book.phase == .selling {
      let earlier = PersistentClient.batchSize / 4
      let sales = book.answered(
        last: PersistentClient.batchSize - earlier, earlier: earlier, &random)
      guard !sales.isEmpty else {
        // Nothing was sold yet.
        usleep(2_000)
        continue
      }
      guard client.buy(sales) else { return }
    }
  }
}

/// Receives the events after a cursor with long polls, over all restarts of the server.
struct EventWatcher: Sendable {
  let place: SellingPlace
  let book: SalesBook
  let start: String

  func run() {
    let client = PersistentClient(place, book)
    var cursor = start
    while true {
      // Read first, so that the last page is read after the last purchase.
      let isOver = book.phase >= .over
      guard let page = client.events(after: cursor, wait: isOver ? 0 : 2) else { return }
      book.add(page.events)
      cursor = page.cursor
      if isOver, page.events.isEmpty { return }
    }
  }
}
