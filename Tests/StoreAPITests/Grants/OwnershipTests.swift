import HostedModel
import HostedStoreAPI
import HostedShop
import HostedTestTraits
import Testing

@Suite("Grants for buyers only", .waiting, .timeLimit(.hang))
struct OwnershipTests {
  private let space = [("space", "1.1")]

  @Test func `An account gets only what it bought`() throws {
    let fixture = try GateFixture()
    #expect(try fixture.refusal(space) == 403)
    try fixture.sell("t-1", "space")
    #expect(try fixture.refusal(space) == nil)
    #expect(try fixture.refusal([("atlas", "2")]) == 403)
    #expect(try fixture.refusal([("space", "1.1"), ("atlas", "2")]) == 403)
    #expect(try fixture.refusal(space, account: "bob") == 403)
    #expect(try fixture.refusal(space, account: nil) == 403)
    #expect(try fixture.refusal(space, account: "-") == 403)
  }

  @Test func `An older version that is still offered is granted, others are not found`() throws {
    let fixture = try GateFixture()
    try fixture.sell("t-1", "space", contents: [ContentKey("space", version: "1.0")])
    let old = try fixture.grant([("space", "1.0")])
    #expect(old.first?.target.hasPrefix("targets/space/1.0/") == true)
    #expect(try fixture.refusal([("space", "0.9")]) == 404)
  }

  @Test func `All contents of a product belong to its buyer, also later ones`() throws {
    let fixture = try GateFixture()
    try fixture.sell(
      "t-1", "atlas",
      contents: [ContentKey("atlas", version: "2"), ContentKey("maps", version: "2")])
    let files = try fixture.grant([("maps", "3"), ("sounds", "1"), ("atlas", "2")])
    #expect(files.count == 6)
    #expect(files[0].target.hasPrefix("targets/atlas/3/maps/"))
    #expect(try fixture.refusal([("maps", "3")], account: nil, transaction: "t-1") == nil)
    #expect(try fixture.refusal(space) == 403)
    #expect(try fixture.refusal([("unknown", "1")]) == 403)
  }

  private static let failure = ContentError(
    .storeDamaged, "The record is damaged", remedy: "Publish it again")

  @Test func `A content is not refused as long as its product cannot be read`() throws {
    let fixture = try GateFixture(catalog: GateCatalog(failures: [Self.failure]))
    try fixture.sell("t-1", "atlas")
    #expect(throws: Self.failure) { try fixture.grant([("maps", "3")]) }
  }

  @Test func `A content that was sold is granted while another product cannot be read`() throws {
    let fixture = try GateFixture(catalog: GateCatalog(failures: [Self.failure]))
    try fixture.sell("t-1", "atlas", contents: [ContentKey("maps", version: "3")])
    try fixture.sell("t-2", "damaged")
    #expect(try fixture.grant([("maps", "3")]).count == 2)
    // It was added later, maybe to the product that cannot be read.
    #expect(throws: Self.failure) { try fixture.grant([("sounds", "1")]) }
  }

  @Test func `Only a purchase in the state purchased counts`() throws {
    let fixture = try GateFixture()
    try fixture.sell("t-1", "space", state: .deferred(.payment))
    try fixture.sell("t-2", "space", state: .failed(.interrupted))
    for transaction in ["t-1", "t-2", "t-unknown"] {
      #expect(try fixture.refusal(space, account: nil, transaction: transaction) == 403)
    }
    #expect(try fixture.refusal(space) == 403)
    try fixture.change(.decide(transaction: "t-1", .approve))
    #expect(try fixture.refusal(space) == nil)
    for change in [PurchaseChange.refund(reason: ""), .revoke(reason: "")] {
      try fixture.change(.decide(transaction: "t-1", change))
      #expect(try fixture.refusal(space) == 403)
      #expect(try fixture.refusal(space, account: nil, transaction: "t-1") == 403)
      try fixture.change(.decide(transaction: "t-1", .reverse))
      #expect(try fixture.refusal(space) == nil)
    }
    try fixture.change(.erase(account: "ada"))
    #expect(try fixture.refusal(space) == 403)
  }

  @Test func `A device with a JWT for one account gets nothing of another`() throws {
    let fixture = try GateFixture()
    try fixture.sell("t-ada", "space", to: "ada")
    try fixture.sell("t-library", "space", to: nil)
    #expect(try fixture.refusal(space, account: nil, restriction: "ada") == nil)
    #expect(try fixture.refusal(space, account: "ada", restriction: "ada") == nil)
    #expect(
      try fixture.refusal(space, account: nil, transaction: "t-ada", restriction: "ada") == nil)
    #expect(try fixture.refusal(space, account: "ada", restriction: "bob") == 403)
    for transaction in ["t-ada", "t-library"] {
      #expect(
        try fixture.refusal(space, account: nil, transaction: transaction, restriction: "bob")
          == 403)
    }
  }

  @Test func `The account of a key is only for its caller`() throws {
    let fixture = try GateFixture()
    try fixture.sell("t-own", "space", to: "key-shop")
    try fixture.sell("t-other", "space", to: "key-other")
    #expect(try fixture.refusal(space, account: nil) == nil)
    #expect(try fixture.refusal(space, account: "key-shop") == nil)
    #expect(try fixture.refusal(space, account: "key-other") == 403)
    #expect(try fixture.refusal(space, account: nil, transaction: "t-other") == 403)
  }

  @Test func `A grant does not contain the name of the account`() throws {
    let fixture = try GateFixture()
    try fixture.sell("t-1", "space", to: "ada@mail.example")
    let files = try fixture.grant(space, account: "ada@mail.example")
    #expect(!files.flatMap(\.urls).joined(separator: " ").contains("ada"))
  }

  @Test(arguments: [
    #"{}"#, #"[]"#, #"{"contents":[]}"#, #"{"contents":"space"}"#, #"{"contents":["space"]}"#,
    #"{"contents":[{"contentIdentifier":"space"}]}"#,
    #"{"contents":[{"contentIdentifier":"../space","version":"1"}]}"#,
    #"{"contents":[{"contentIdentifier":"space","version":"x"}]}"#,
    #"{"account":"","contents":[{"contentIdentifier":"space","version":"1"}]}"#,
    #"{"account":"..","contents":[{"contentIdentifier":"space","version":"1"}]}"#,
    #"{"account":"a\nb","contents":[{"contentIdentifier":"space","version":"1"}]}"#,
    #"{"account":7,"contents":[{"contentIdentifier":"space","version":"1"}]}"#,
    #"{"account":"ada","transaction":"t","contents":[{"contentIdentifier":"a","version":"1"}]}"#,
  ])
  func `An invalid request gets 400`(body: String) throws {
    let fixture = try GateFixture()
    let json = try JSONValue(parsing: Array(body.utf8))
    do {
      _ = try fixture.grant(json)
      Issue.record("The request was accepted")
    } catch let problem as Problem {
      #expect(problem.status == 400)
    }
  }

  @Test func `A request for more than 64 contents gets 400`() throws {
    let fixture = try GateFixture()
    try fixture.sell("t-1", "space")
    let all = Array(repeating: ("space", "1.1"), count: 65)
    #expect(try fixture.refusal(Array(all.dropLast())) == nil)
    #expect(try fixture.refusal(all) == 400)
  }
}
