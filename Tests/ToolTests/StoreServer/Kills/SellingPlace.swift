import HostedConcurrency
import HostedDatabase
import Foundation
import HostedTestSupport
import Testing

/// The database of a store server.
enum ServerDatabase: String, CaseIterable, Sendable {
  case sqlite, postgres

  /// Those that this machine has.
  static let available = allCases.filter { $0 == .sqlite || PostgresServer.isInstalled }
}

/// A store with small products, and what its server needs: data, a token and a port.
final class SellingPlace: Sendable {
  let tool: Tool
  let products: [String]
  /// The server of the ledger's database; nil for SQLite.
  let postgres: PostgresServer?
  private let database: PostgresDatabase?
  private let token: String
  private let port: ReservedPort

  /// A purchase in the ledger.
  struct Row: Sendable {
    let transaction: String
    let account: String
    let product: String
    let state: String
    let isFinished: Bool
  }

  /// Creates the store; it lists the key that signs the server's receipts.
  init(productCount: Int, postgres: PostgresServer? = nil) throws {
    let tool = try Tool()
    let products = (1...productCount).map { "com.example.p\($0)" }
    let database = try postgres?.database()
    let packages = try products.map {
      try tool.makePackage($0, "1.0", ["text": Data("The text of \($0)\n".utf8)])
    }
    try tool.succeed("store", "init", "store")
    try tool.succeed(["store", "publish", "store"] + packages)
    try tool.addKey(ledger: ["--data", "data"] + Self.words(for: database))
    try tool.succeed("store", "receipt-key", "store", "data/receipt-key.pub.pem")
    self.tool = tool
    self.products = products
    self.postgres = postgres
    self.database = database
    token = try tool.text("token")
    port = try ReservedPort()
  }

  private static func words(for database: PostgresDatabase?) -> [String] {
    database.map { ["--database", $0.url] } ?? []
  }

  private var address: String { "127.0.0.1:\(port.number)" }

  /// Starts a server, which has the same port each time, and waits until it listens.
  func start(environment: [String: String] = [:]) throws -> SellingProcess {
    try SellingProcess(
      tool, Self.words(for: database), listen: address, environment: environment)
  }

  /// Starts a server, and kills it after some microseconds.
  func killDuringStart(after time: UInt32) throws {
    let process = try tool.start(
      ["store-server", "run", "store", "--data", "data", "--listen", address]
        + Self.words(for: database))
    usleep(time)
    process.kill(SIGKILL)
    process.waitUntilExit()
  }

  func connect() throws -> StoreConnection {
    try StoreConnection(port: port.number, token: token)
  }

  /// The options of commands that use the store and its server.
  var common: [String] {
    ["--store", "store", "--service", "http://\(address)/", "--service-token-file", "token"]
  }

  /// The body of a purchase.
  func order(of product: String, account: String, transaction: String? = nil) -> String {
    let transaction = transaction.map { #", "transactionIdentifier": "\#($0)""# } ?? ""
    return #"{"productIdentifier": "\#(product)", "account": "\#(account)"\#(transaction)}"#
  }

  /// The purchases in the ledger, in commit order, read from the database.
  func rows() throws -> [Row] {
    let sql = """
      SELECT transaction_id, name, product, state, \
      CASE WHEN finished_at IS NULL THEN 'open' ELSE 'finished' END \
      FROM purchase JOIN account ON account.id = purchase.account ORDER BY sequence
      """
    var rows: [[String]] = []
    if let database {
      rows = try database.run(sql).split(separator: "\n").map {
        $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      }
    } else {
      let path = tool.folder.path("data/ledger.sqlite")
      try SQLiteConnection(path: path, .existing, of: .ledger).query(sql) { row in
        rows.append((Int32(0)..<5).map { row.text($0) })
      }
    }
    return try rows.map { row in
      guard row.count == 5 else { throw ChildProcess.Failure("A row is malformed: \(row)") }
      return Row(
        transaction: row[0], account: row[1], product: row[2], state: row[3],
        isFinished: row[4] == "finished")
    }
  }
}

/// Runs `body` on `count` threads at the same time, and returns its values in order.
///
/// Blocks. Throws the first error.
func onThreads<Value: Sendable>(
  _ count: Int, _ body: @escaping @Sendable (_ number: Int) throws -> Value
) throws -> [Value] {
  let results = Mutex<[Int: Result<Value, any Error>]>([:])
  let threads = DispatchGroup()
  for number in 0..<count {
    threads.enter()
    Thread.detachNewThread {
      let result = Result { try body(number) }
      results.withLock { $0[number] = result }
      threads.leave()
    }
  }
  threads.wait()
  return try results.withLock { $0 }.sorted { $0.key < $1.key }.map { try $0.value.get() }
}
