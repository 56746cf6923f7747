import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Commands that run a store server and use it.
@Suite("Store server", .waiting, .timeLimit(.hang))
struct StoreServerTests {
  @Test("A product is bought, installed, listed, refunded and bought back", .slow)
  func sale() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    let service = server.service()
    let buy = ["purchase", Tool.chapter1, "--account", "alice", "--transaction", "order-1"]
    let bought = try tool.succeed(buy + ["--json"] + service).json()
    #expect(bought["state"] as? String == "purchased")
    #expect((bought["receipt"] as? String)?.split(separator: ".").count == 3)
    // The same transaction is the same purchase.
    let again = try tool.succeed(buy + ["--json"] + service).json()
    // Each answer has another signature.
    let claims = { (purchase: [String: Any]) in
      (purchase["receipt"] as? String)?.split(separator: ".").dropLast()
    }
    #expect(claims(again) == claims(bought))
    try tool.fail(
      ["purchase", Tool.chapter2, "--account", "alice", "--transaction", "order-1"] + service,
      saying: ["[706]"])

    let common = ["--store", "store", "--library", "lib", "--account", "alice"] + service
    try tool.succeed(["get", Tool.chapter2] + common)
    #expect(try tool.current() == [Tool.chapter2: "1.0"])
    #expect(!tool.exists("lib/ledger.sqlite"))
    let account = try tool.call("\(server.url)v1/accounts/alice/entitlements").document
    let owned = try #require(account["transactions"] as? [[String: Any]])
    let finished = owned.filter { $0["isFinished"] as? Bool == true }
    #expect(finished.map { $0["productIdentifier"] as? String } == [Tool.chapter2])
    let library = ["--store", "store", "--library", "lib"]
    let repair = try tool.succeed(["repair"] + library + service)
    #expect(repair.output == "Nothing is damaged.\n")
    let entitlements = try tool.purchases("entitlements", server, account: "alice")
    #expect(entitlements.count == 2 && entitlements["order-1"] == "purchased")
    #expect(try tool.purchases("entitlements", server).isEmpty)

    let refund = ["refund", "order-1", "--reason", "Bought twice"] + service
    #expect(try tool.succeed(refund).output == "\(Tool.chapter1): refunded\n")
    #expect(try tool.purchases("entitlements", server, account: "alice").count == 1)
    #expect(try tool.purchases("history", server, account: "alice")["order-1"] == "refunded")
    try tool.fail(["approve", "order-1"] + service, saying: ["the purchase is refunded"])
    try tool.succeed(["reverse", "order-1"] + service)

    let restore = ["restore", "--download", "--json", "--store", "store", "--library", "second"]
    let restored = try tool.succeed(restore + ["--account", "alice"] + service).json()
    #expect((restored["restored"] as? [Any])?.count == 2)
    try tool.succeed(["account", "erase", "alice"] + service)
    #expect(try tool.purchases("history", server, account: "alice").isEmpty)
    #expect(server.stop() == 0)
  }

  @Test("The error of a purchase whose output is lost names its transaction")
  func lostOutput() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    let process = try tool.start(
      ["purchase", Tool.chapter1] + server.service(), output: "/dev/full",
      errors: tool.folder.path("err.txt"))
    #expect(process.waitUntilExit().status == 1)
    let errors = try tool.text("err.txt")
    let named = try #require(errors.firstMatch(of: #/--transaction (\S+)\. \[/#), "\(errors)")
    #expect(try tool.purchases("history", server) == [String(named.output.1): "purchased"])
  }

  @Test("A purchase that waits is approved or declined")
  func decisions() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool, ["--json"])
    for transaction in ["a", "b"] {
      let body = "{\"productIdentifier\": \"\(Tool.chapter1)\", \"askToBuy\": true}"
      let answer = try tool.buy(server.url, transaction, body)
      #expect(answer.status == 201 && answer.document["state"] as? String == "deferred")
    }
    try tool.succeed(["approve", "a"] + server.service())
    try tool.succeed(["decline", "b", "--reason", "Too young"] + server.service())
    #expect(try tool.purchases("history", server) == ["a": "purchased", "b": "failed"])
    let declined = try tool.call("\(server.url)v1/purchases/b")
    #expect(declined.document["reason"] as? String == "Too young")
  }

  @Test("Keys are listed, rotated and revoked while the server runs", .slow)
  func keys() throws {
    let tool = try Tool.withBook()
    let kid = try tool.addKey()
    try tool.addKey("read", to: "reader")
    let server = try SellingProcess(tool)
    let ledger = ["--data", "data"]
    try tool.succeed(["purchase", Tool.chapter1] + server.service())
    try tool.fail(["purchase", Tool.chapter2] + server.service("reader"), saying: ["scope"])
    #expect(try tool.purchases("history", server, token: "reader").isEmpty)

    // The new key has the same account.
    try tool.fail(
      ["store-server", "key", "rotate", kid, "--overlap", "9223372036854775807"] + ledger,
      status: 2, saying: ["--overlap takes a number of at most"])
    let rotated = try tool.succeed(["store-server", "key", "rotate", kid, "--json"] + ledger)
    let token = try #require(try rotated.json()["token"] as? String)
    #expect(rotated.errors.contains("\(kid) expires at "))
    try tool.write(token, to: "next")
    #expect(try tool.purchases("history", server, token: "next").count == 1)
    #expect(try tool.purchases("history", server).count == 1)

    try tool.succeed(["store-server", "key", "revoke", kid] + ledger)
    try tool.fail(["history"] + server.service(), saying: ["[206]"])
    try tool.fail(["store-server", "key", "revoke", kid] + ledger, saying: [kid])
    try tool.fail(["store-server", "key", "rotate", kid] + ledger, saying: [kid])
    let list = try tool.succeed(["store-server", "key", "list", "--json"] + ledger).json()
    let keys = try #require(list["keys"] as? [[String: Any]])
    #expect(keys.count == 3)
    #expect(keys.filter { $0["usable"] as? Bool == true }.count == 2)
    #expect(keys.filter { $0["account"] as? String == kid }.count == 2)
    let table = try tool.succeed(["store-server", "key", "list"] + ledger).output
    #expect(table.contains("revoked") && !table.contains(token))
  }

  @Test("A rotation whose output is lost keeps the old key")
  func lostRotation() throws {
    let tool = try Tool()
    let kid = try tool.addKey()
    let rotate = ["store-server", "key", "rotate", kid, "--overlap", "0", "--data", "data"]
    let process = try tool.start(
      rotate, output: "/dev/full", errors: tool.folder.path("err.txt"))
    #expect(process.waitUntilExit().status == 1)
    try tool.succeed(rotate)
  }

  @Test("Revoking a key in a folder without a ledger creates nothing")
  func revocationInWrongFolder() throws {
    let tool = try Tool()
    let folder = tool.folder.path("other")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let revoke = ["store-server", "key", "revoke", "key-1", "--data", "other"]
    try tool.fail(revoke, saying: ["key-1"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
  }

  @Test("The token is printed alone, so that it can be redirected into a file")
  func tokenOutput() throws {
    let tool = try Tool()
    let add = ["store-server", "key", "add", "--data", "new/data", "--scopes", "read"]
    let result = try tool.succeed(add)
    #expect(result.output.wholeMatch(of: /hct_[A-Za-z0-9_-]{43}\n/) != nil)
    #expect(result.errors.contains("Added key-"))
    let mode = try FileManager.default.attributesOfItem(atPath: tool.folder.path("new/data"))
    #expect(mode[.posixPermissions] as? Int == 0o700)
    for name in ["ledger.sqlite", "receipt-key.pem"] {
      let path = tool.folder.path("new/data/\(name)")
      let file = try FileManager.default.attributesOfItem(atPath: path)
      #expect(file[.posixPermissions] as? Int == 0o600, "\(name)")
    }
  }

  @Test("A file that is not a ledger is not imported, and no server is created for it")
  func notImported() throws {
    let tool = try Tool()
    let file = tool.folder.path("ledger.sqlite")
    let bytes = Data(String(repeating: "not a ledger ", count: 100).utf8)
    try bytes.write(to: URL(filePath: file))
    try tool.fail(
      ["store-server", "import", "--ledger", "ledger.sqlite", "--data", "data"], status: 1)
    #expect(try Data(contentsOf: URL(filePath: file)) == bytes)
    #expect(!FileManager.default.fileExists(atPath: tool.folder.path("data")))
  }

  @Test("The built-in store service's purchases are imported, and keep their transactions", .slow)
  func imported() throws {
    let tool = try Tool.withBook()
    let common = ["--store", "store", "--library", "lib"]
    try tool.succeed(["get", Tool.chapter1] + common)
    try tool.succeed(["get", Tool.chapter2, "--account", "alice"] + common)
    let own = try tool.grants()
    let alices = try tool.grants(account: "alice")
    let command = [
      "store-server", "import", "--ledger", "lib/ledger.sqlite", "--data", "data", "--json",
    ]
    // The library's own account becomes that of a key.
    try tool.fail(command, status: 2, saying: ["--key", "no key"])
    try tool.addKey()
    #expect(try tool.succeed(command).json()["imported"] as? Int == 2)
    let again = try tool.succeed(command).json()
    #expect(again["imported"] as? Int == 0 && again["known"] as? Int == 2)
    let server = try SellingProcess(tool)
    #expect(Array(try tool.purchases("entitlements", server).keys) == own)
    #expect(Array(try tool.purchases("entitlements", server, account: "alice").keys) == alices)
    let known = try tool.call("\(server.url)v1/purchases/\(own[0])")
    #expect(known.document["receipt"] is String)
    // A queue that asks again gets the same purchase.
    let body = "{\"productIdentifier\": \"\(Tool.chapter1)\"}"
    #expect(try tool.buy(server.url, own[0], body).status == 200)
    try tool.succeed(
      ["restore", "--download", "--store", "store", "--library", "second"] + server.service())
    #expect(try tool.current("second") == [Tool.chapter1: "1.0"])
  }

  @Test("Accounts are erased by name and from a file, and an unknown one is an error")
  func erasures() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    for account in ["ann", "bob", "lee"] {
      try tool.succeed(["purchase", Tool.chapter1, "--account", account] + server.service())
    }
    try tool.write("bob\nlee\n", to: "accounts")
    let erased = try tool.succeed(
      ["account", "erase", "ann", "--from", "accounts"] + server.service())
    #expect(
      erased.output == ["ann", "bob", "lee"].map { "\($0): erased from 1 purchase\n" }.joined())
    try tool.fail(["account", "erase", "ann"] + server.service(), saying: ["no purchases of ann"])
    try tool.fail(["account", "erase"] + server.service(), status: 2, saying: ["ACCOUNT"])
  }

  @Test("A voucher pays for one purchase")
  func vouchers() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool, ["--decide", "voucher"])
    let add = ["store-server", "voucher", "add", "--data", "data", "--product", Tool.chapter1]
    let printed = try tool.succeed(add + ["--count", "2"]).output.split(separator: "\n")
    #expect(printed.count == 2)
    try tool.write(String(printed[0]), to: "voucher")
    let buy = ["purchase", Tool.chapter1, "--voucher-file", "voucher"] + server.service()
    try tool.succeed(buy)
    // An owner needs no voucher.
    try tool.succeed(["purchase", Tool.chapter1] + server.service())
    try tool.fail(buy + ["--account", "ann"], saying: ["was declined"])
    try tool.fail(
      ["purchase", Tool.chapter1, "--account", "ann"] + server.service(), saying: ["voucher"])
    // For another product.
    try tool.write(String(printed[1]), to: "voucher")
    try tool.fail(
      ["purchase", Tool.chapter2, "--voucher-file", "voucher"] + server.service(),
      saying: ["was declined"])
    let code = Data(printed[0].utf8)
    #expect(try tool.tree("data").values.allSatisfy { $0.range(of: code) == nil })
  }

  @Test("What is sold after a backup can be asked again under the same identifier")
  func backup() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    let body = "{\"productIdentifier\": \"\(Tool.chapter1)\", \"account\": \"alice\"}"
    #expect(try tool.buy(server.url, "before", body).status == 201)
    let events = try tool.call("\(server.url)v1/events").document
    let cursor = try #require(events["cursor"] as? String)
    let command = ["store-server", "backup", "--data", "data", "--output", "copy.sqlite"]
    try tool.succeed(command)
    try tool.fail(command, saying: ["copy.sqlite"])
    #expect(try tool.buy(server.url, "after", body).status == 201)
    #expect(server.stop() == 0)

    for end in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: tool.folder.path("data/ledger.sqlite\(end)"))
    }
    try FileManager.default.moveItem(
      atPath: tool.folder.path("copy.sqlite"), toPath: tool.folder.path("data/ledger.sqlite"))
    let restored = try SellingProcess(tool)
    #expect(try tool.buy(restored.url, "before", body).status == 200)
    #expect(try tool.buy(restored.url, "after", body).status == 201)
    #expect(try tool.call("\(restored.url)v1/events?after=\(cursor)").status == 410)
  }

  @Test("A changed catalog is sold and reported without a restart, and also after one", .slow)
  func publication() throws {
    let tool = try Tool.withShop()
    var server = try SellingProcess(tool)
    let start = try #require(
      try tool.call("\(server.url)v1/events").document["cursor"] as? String)
    func published(_ cursor: String) throws -> String? {
      let answer = try tool.call("\(server.url)v1/events?after=\(cursor)&wait=30").document
      let events = answer["events"] as? [[String: Any]] ?? []
      #expect(events.map { $0["kind"] as? String } == ["published"])
      return answer["cursor"] as? String
    }
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    let next = try #require(try published(start))
    let products = try tool.call("\(server.url)v1/products?id=\(Tool.chapter1)").document
    #expect("\(products["products"] ?? "")".contains("1.1"))
    #expect(server.stop() == 0)
    try tool.succeed("store", "add", "store", "com.example.new", "--title", "New")
    server = try SellingProcess(tool)
    _ = try published(next)
  }

  @Test("A publication is reported once, even if the data folder cannot record it", .slow)
  func unrecordedPublication() throws {
    let tool = try Tool.withShop()
    let server = try SellingProcess(tool)
    func events(_ query: String) throws -> (count: Int?, cursor: String) {
      let answer = try tool.call("\(server.url)v1/events\(query)").document
      return (
        (answer["events"] as? [[String: Any]])?.count, try #require(answer["cursor"] as? String)
      )
    }
    let start = try events("").cursor
    // No file can take the name of a folder.
    let record = tool.folder.path("data/catalog-version")
    try FileManager.default.removeItem(atPath: record)
    try FileManager.default.createDirectory(atPath: record, withIntermediateDirectories: false)
    try tool.succeed("store", "publish", "store", Tool.sample("chapter1-1.1.pkg"))
    let first = try events("?after=\(start)&wait=30")
    #expect(first.count == 1)
    // The server compares the catalog each second.
    #expect(try events("?after=\(first.cursor)&wait=3").count == 0)
    #expect(server.stop() == 0)
  }
}
