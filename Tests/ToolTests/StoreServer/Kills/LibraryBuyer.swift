import Foundation
import HostedTestSupport

/// Buys, finishes and restores with processes of the tool that are killed at random moments.
///
/// Each life has an account and a library, whose journal continues interrupted purchases.
struct LibraryBuyer: Sendable {
  let place: SellingPlace
  let book: SalesBook
  let number: Int
  let seed: UInt64
  /// How long a process takes without kills and other buyers, in microseconds.
  let usual: UInt32

  /// The accounts of library clients.
  static let prefix = "reader-"

  func run() {
    var random = SplitMix(state: seed)
    var life = 0
    repeat {
      life += 1
      guard live("\(number)-\(life)", &random) else { return }
    } while book.phase == .selling
  }

  /// Lives once; returns false after a failure.
  func live(_ name: String, _ random: inout SplitMix) -> Bool {
    let account = "\(Self.prefix)\(name)"
    let (library, restored) = ("lib-\(name)", "restored-\(name)")
    let get = ["get"] + place.products + ["--timeout", "30"] + options(library, account)
    let restore = ["restore", "--download"] + options(restored, account)
    do {
      guard complete(get, &random), try isInstalled(library),
        try areFinished(account, library, get, &random),
        complete(restore, &random), try isInstalled(restored),
        // Nothing was sold by the restore.
        try areFinished(account, library, get, &random)
      else { return false }
      book.add(reader: account)
      for name in [library, restored] {
        try FileManager.default.removeItem(atPath: place.tool.folder.path(name))
      }
      return true
    } catch {
      book.fail("\(account): \(error)")
      return false
    }
  }

  private func options(_ library: String, _ account: String) -> [String] {
    ["--library", library, "--account", account] + place.common
  }

  /// Runs a command until it succeeds; while products are sold, half of the runs are killed.
  private func complete(_ words: [String], _ random: inout SplitMix) -> Bool {
    let deadline = ContinuousClock.now + PersistentClient.limit
    let errors = place.tool.folder.path("reader-\(number).err")
    var last = ""
    while book.phase != .aborted {
      do {
        let process = try place.tool.start(words, errors: errors)
        let end = ContinuousClock.now + longestRun(&random)
        process.wait { ContinuousClock.now > end || book.phase == .aborted }
        process.kill(SIGKILL)
        let (reason, status) = process.waitUntilExit()
        if reason == .exit, status == 0 { return true }
        last = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        if reason == .exit { note(last) } else { book.count { $0.clientKills += 1 } }
      } catch {
        last = "\(error)"
      }
      guard ContinuousClock.now < deadline else {
        book.fail("“\(words.joined(separator: " "))” does not succeed: \(last)")
        return false
      }
    }
    return false
  }

  /// Returns the time until a kill, or the time in which a process ends.
  private func longestRun(_ random: inout SplitMix) -> Duration {
    guard book.phase == .selling, Bool.random(using: &random) else { return .seconds(60) }
    // Beside other buyers, it takes several times as long.
    let latest = Int(usual) << Int.random(in: 0...3, using: &random)
    return .microseconds(Int.random(in: 0...latest, using: &random))
  }

  /// Counts the numbers of the errors of a run, which a killed server causes.
  private func note(_ errors: String) {
    let numbers = errors.matches(of: #/\[[0-9]+\]/#).map { String($0.output) }
    book.count { counts in
      for number in Set(numbers) { counts.clientErrors[number, default: 0] += 1 }
    }
  }

  /// Whether the library has the current version of each product.
  private func isInstalled(_ library: String) throws -> Bool {
    let current = try place.tool.current(library)
    let expected = Dictionary(uniqueKeysWithValues: place.products.map { ($0, "1.0") })
    if current != expected { book.fail("\(library) has installed \(current)") }
    return current == expected
  }

  /// Waits until the server has all finish notices, which each run of `get` continues to send.
  ///
  /// Whether the account has one purchase of each product, and the library has finished the same.
  private func areFinished(
    _ account: String, _ library: String, _ get: [String], _ random: inout SplitMix
  ) throws -> Bool {
    let client = PersistentClient(place, book)
    let deadline = ContinuousClock.now + PersistentClient.limit
    while true {
      guard let answer = client.answer("GET", "/v1/accounts/\(account)/history") else {
        return false
      }
      let sold = answer.object["transactions"] as? [[String: Any]] ?? []
      let products = sold.compactMap { $0["productIdentifier"] as? String }
      guard products.sorted() == place.products.sorted() else {
        book.fail("\(account) has bought \(products): \(answer.status) \(answer.body)")
        return false
      }
      let open = sold.filter { $0["isFinished"] as? Bool != true }
      if open.isEmpty { return try hasFinished(sold, account, library) }
      guard ContinuousClock.now < deadline else {
        book.fail("The server did not get finish notices of \(account): \(open)")
        return false
      }
      guard complete(get, &random) else { return false }
    }
  }

  /// Whether the library's journal has finished exactly the purchases at the server.
  private func hasFinished(
    _ sold: [[String: Any]], _ account: String, _ library: String
  ) throws -> Bool {
    let queue = try place.tool.run("queue", "--library", library, "--finished", "--json").json()
    let purchases = (queue["transactions"] as? [[String: Any]] ?? [])
      .filter { $0["state"] as? String == "purchased" }
    let finished = purchases.compactMap { $0["id"] as? String }.sorted()
    let expected = sold.compactMap { $0["transactionIdentifier"] as? String }.sorted()
    if finished != expected {
      book.fail("\(account) has finished \(finished), and the server has sold \(expected)")
    }
    return finished == expected
  }
}
