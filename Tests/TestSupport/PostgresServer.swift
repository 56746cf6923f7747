import HostedConcurrency
import Foundation
import Glibc

/// A PostgreSQL server in a temporary folder, which listens on a Unix socket only.
///
/// The last reference stops it. PostgreSQL does not run as root: root runs it as `OtherUser`.
package final class PostgresServer: Sendable {
  /// Whether PostgreSQL is installed and can be started.
  package static let isInstalled = programs != nil && (geteuid() != 0 || OtherUser.obstacle == nil)
  /// The comment of a skipped test.
  package static let reason =
    "PostgreSQL is not installed: apt-get install postgresql-15; root also needs setpriv"

  /// The folder of the programs of the newest version.
  private static let programs: String? = {
    let versions = try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")
    return (versions ?? []).compactMap(Int.init).sorted(by: >)
      .map { "/usr/lib/postgresql/\($0)/bin" }
      .first { access("\($0)/postgres", X_OK) == 0 && access("\($0)/psql", X_OK) == 0 }
  }()

  /// The user who owns the databases of tests, without other privileges.
  package static let owner = "keeper"

  private let folder: TemporaryFolder
  private let settings: [String]
  private let environment: [String: String]
  private let process = Mutex<ChildProcess?>(nil)
  private let databases = Atomic(0)

  private var data: String { folder.path("data") }
  /// The text that the server has written.
  private var log: String {
    (try? String(contentsOfFile: folder.path("log"), encoding: .utf8)) ?? "no log"
  }

  /// The server that all tests of this process share, until the process exits.
  package static func shared() throws -> PostgresServer { try started.get() }

  private static let started: Result<PostgresServer, any Error> = {
    // A value of a static property is not released at the exit.
    atexit {
      guard case .success(let server) = PostgresServer.started else { return }
      server.stop(SIGQUIT)
      try? FileManager.default.removeItem(atPath: server.folder.path)
    }
    return Result { try PostgresServer() }
  }()

  /// Starts a server with `settings`.
  ///
  /// Without `fsync`, commits survive the end of the server, but not of the machine. `environment`
  /// is added to that of the server.
  package init(
    _ settings: [String] = ["fsync=off"], environment: [String: String] = [:]
  ) throws {
    folder = try TemporaryFolder()
    self.settings = settings
    self.environment = environment
    if geteuid() == 0 {
      try FileManager.default.setAttributes(
        [.ownerAccountID: OtherUser.number], ofItemAtPath: folder.path)
    }
    let words = Self.command(
      "initdb",
      [
        "--pgdata", data, "--username=admin", "--auth=trust", "--no-sync", "--encoding=UTF8",
        "--locale=C.UTF-8",
      ])
    let end = try Program.run("/usr/bin/env", words, folder: folder.path)
    guard end.status == 0 else { throw ChildProcess.Failure("initdb failed: \(end.output)") }
    // All users except “guarded” need no password.
    try Data("local all guarded scram-sha-256\nlocal all all trust\n".utf8)
      .write(to: URL(filePath: "\(data)/pg_hba.conf"))
    try start()
    try run(
      "CREATE ROLE \(Self.owner) LOGIN; CREATE ROLE guarded LOGIN PASSWORD 'rightsecret'")
  }

  deinit { stop(SIGQUIT) }

  /// Returns the arguments of `env` that run a program of PostgreSQL as its user.
  private static func command(_ program: String, _ words: [String]) -> [String] {
    let path = "\(programs ?? "")/\(program)"
    return geteuid() == 0 ? OtherUser.command(path, words) : [path] + words
  }

  // MARK: Start and stop

  /// Starts the server, and blocks until it accepts connections.
  package func start() throws {
    let all = [
      "listen_addresses=", "unix_socket_directories=\(folder.path)", "max_connections=300",
      "min_wal_size=32MB", "max_wal_size=64MB",
    ]
    let words = Self.command("postgres", ["-D", data] + (all + settings).flatMap { ["-c", $0] })
    let new = try ChildProcess(
      "/usr/bin/env", words, environment: environment, folder: folder.path,
      output: folder.path("log"))
    new.wait { isReady(new) }
    guard new.isRunning else { throw ChildProcess.Failure("PostgreSQL did not start: \(log)") }
    process.withLock { $0 = new }
  }

  /// Whether the server's own file says that it accepts connections.
  private func isReady(_ process: ChildProcess) -> Bool {
    let text = (try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.count > 7 && lines[0] == "\(process.processIdentifier)"
      && lines[7].hasPrefix("ready")
  }

  /// Stops the server like `pg_ctl stop`, and blocks until it has ended.
  ///
  /// SIGINT is the mode `fast`, and SIGQUIT the mode `immediate`, which is like a crash.
  package func stop(_ signal: Int32) {
    guard let process = process.withLock({ $0 }) else { return }
    process.kill(signal)
    process.waitUntilExit()
  }

  /// Kills all processes of the server, also those that wait for a disk.
  package func kill() throws {
    guard let process = process.withLock({ $0 }) else { return }
    let identifier = process.processIdentifier
    let children = try String(
      contentsOfFile: "/proc/\(identifier)/task/\(identifier)/children", encoding: .utf8)
    process.kill(SIGKILL)
    // A new server does not start while one of them has the shared memory.
    for child in children.split(separator: " ").compactMap({ pid_t($0) }) {
      Glibc.kill(child, SIGKILL)
      while Glibc.kill(child, 0) == 0 { usleep(1_000) }
    }
    process.waitUntilExit()
  }

  // MARK: Databases

  /// Creates an empty database.
  package func database(copying template: String = "template1") throws -> PostgresDatabase {
    let name = "test\(databases.add(1, ordering: .relaxed).newValue)"
    try run("CREATE DATABASE \(name) OWNER \(Self.owner) TEMPLATE \(template)")
    return PostgresDatabase(name, self)
  }

  /// Returns the URL of a database; the user's name may be followed by a colon and a password.
  package func url(_ database: String, user: String = PostgresServer.owner) -> String {
    "postgresql://\(user)@/\(database)?host=\(folder.path)"
  }

  /// Runs statements as the administrator, and returns the rows.
  @discardableResult
  package func run(_ sql: String, in database: String = "postgres") throws -> String {
    let end = try Program.run(
      "\(Self.programs ?? "")/psql",
      [
        "-h", folder.path, "-U", "admin", "-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c",
        sql,
      ])
    guard end.status == 0 else { throw ChildProcess.Failure("psql failed: \(end.output)") }
    return end.output.trimmingCharacters(in: .newlines)
  }
}

/// A database of one test.
///
/// The last reference removes it.
package final class PostgresDatabase: Sendable {
  package let name: String
  package let server: PostgresServer

  fileprivate init(_ name: String, _ server: PostgresServer) {
    self.name = name
    self.server = server
  }

  // If the server does not run, its folder is removed soon.
  deinit { _ = try? server.run("DROP DATABASE \(name) WITH (FORCE)") }

  package var url: String { server.url(name) }

  /// Runs statements as the administrator, and returns the rows.
  @discardableResult
  package func run(_ sql: String) throws -> String { try server.run(sql, in: name) }

  /// Ends all connections to it, and blocks until they have ended.
  package func endConnections() throws {
    try run(
      "SELECT bool_and(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity "
        + "WHERE datname = current_database() AND pid <> pg_backend_pid()")
  }
}
