import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Kills runs that install and update 20 packages with SIGKILL at random moments, and restarts
/// them.
///
/// `HOSTEDCONTENT_SEED` repeats the moments of a run as far as the machine's timing allows.
@Suite("Killed at random moments", .long, .timeLimit(.minutes(60)))
struct CrashLoopTests {
  static let productCount = 20

  @Test(
    "The current version is always complete, and at the end everything is installed once", .slow)
  func crashLoop() throws {
    let kills = SlowTests.count(24, all: 1000)
    let seed = SlowTests.seed(of: "client kills")
    var random = SplitMix(state: seed)

    let tool = try Tool.withStore()
    var version = "1.0"
    try publish(version, tool)

    // The duration of an undisturbed run determines when the kills come.
    let usual = try usualSeconds(tool)
    var killed = 0
    var round = 0
    while killed < kills {
      round += 1
      // Installs into a new library alternate with updates of it.
      let isInstall = round % 2 == 1
      if isInstall {
        try? FileManager.default.removeItem(atPath: tool.folder.path("lib"))
      } else {
        version = "1.\(round)"
        try publish(version, tool)
      }
      let words = isInstall ? ["get"] + Self.products : ["update"]
      // A round is killed repeatedly until a run completes.
      while killed < kills {
        let process = try tool.start(words + ["--store", "store", "--library", "lib", "--quiet"])
        usleep(UInt32.random(in: 0...UInt32(usual * 1_000_000), using: &random))
        process.kill(SIGKILL)
        process.waitUntilExit()
        try expectCurrentIsWhole(tool, seed)
        if process.terminationReason == .exit { break }
        killed += 1
      }
      try expectEnd(of: words, version: version, tool, seed)
    }
    print("client kills: \(killed) kills in \(round) rounds")
  }

  private static let products = (1...productCount).map { "com.example.crash.p\($0)" }

  /// The large file of every product.
  ///
  /// It is the same in every version.
  private static let largeFiles = Dictionary(
    uniqueKeysWithValues: products.enumerated().map { number, product in
      var random = SplitMix(state: UInt64(number))
      // Not as Data, because a leak sanitizer does not see its tagged pointers.
      return (product, random.bytes(300_000))
    })

  private static func files(_ product: String, _ version: String) -> [String: Data] {
    var files = ["version.txt": Data("\(product) \(version)".utf8)]
    files["large.bin"] = Data(largeFiles[product] ?? [])
    for number in 0..<10 {
      files["folder/\(number).txt"] = Data("\(product) \(number) in every version".utf8)
    }
    return files
  }

  private func publish(_ version: String, _ tool: Tool) throws {
    let packages = try Self.products.map {
      try tool.makePackage($0, version, Self.files($0, version))
    }
    let result = try tool.run(["store", "publish", "store"] + packages)
    #expect(result.status == 0, "\(result.errors)")
  }

  private func usualSeconds(_ tool: Tool) throws -> Double {
    let start = ContinuousClock.now
    let result = try tool.run(
      ["get"] + Self.products + ["--store", "store", "--library", "warm-up", "--quiet"])
    #expect(result.status == 0, "\(result.errors)")
    let elapsed = (ContinuousClock.now - start).components
    return Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
  }

  private func expectCurrentIsWhole(_ tool: Tool, _ seed: UInt64) throws {
    for product in Self.products {
      let current = tool.folder.path("lib/products/\(product)/current")
      guard let version = try? FileManager.default.destinationOfSymbolicLink(atPath: current) else {
        continue
      }
      for (path, bytes) in Self.files(product, version) {
        let found = try? Data(contentsOf: URL(filePath: "\(current)/Contents/\(path)"))
        #expect(found == bytes, "seed \(seed): \(product) \(version) \(path)")
      }
    }
  }

  private func expectEnd(of words: [String], version: String, _ tool: Tool, _ seed: UInt64) throws {
    let result = try tool.run(words + ["--store", "store", "--library", "lib", "--quiet"])
    #expect(result.status == 0, "seed \(seed): \(result.errors)")
    try expectCurrentIsWhole(tool, seed)
    for product in Self.products {
      let current = tool.folder.path("lib/products/\(product)/current")
      #expect(
        (try? FileManager.default.destinationOfSymbolicLink(atPath: current)) == version,
        "seed \(seed): \(product)")
    }
    let verified = try tool.run("verify", "--library", "lib")
    #expect(verified.status == 0, "seed \(seed): \(verified.output)")
    let staging = try FileManager.default.contentsOfDirectory(
      atPath: tool.folder.path("lib/staging"))
    #expect(staging == ["CACHEDIR.TAG"], "seed \(seed)")
    try expectNothingLostOrTwice(tool, seed)
  }

  /// Checks that every grant was finished as a purchase exactly once.
  ///
  /// The journal refuses to finish one twice.
  private func expectNothingLostOrTwice(_ tool: Tool, _ seed: UInt64) throws {
    let open = try tool.run("queue", "--library", "lib", "--json").json()["transactions"] as? [Any]
    #expect(open?.isEmpty == true, "seed \(seed)")
    let finished = try #require(
      try tool.run("queue", "--library", "lib", "--finished", "--json").json()["transactions"]
        as? [[String: Any]])
    let purchases = finished.filter { $0["state"] as? String == "purchased" }
    let grants = try tool.grants()
    let ids = purchases.compactMap { $0["id"] as? String }
    #expect(Set(ids) == Set(grants), "seed \(seed)")
    #expect(ids.count == Set(ids).count, "seed \(seed)")
  }
}
