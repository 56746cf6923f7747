import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import Testing

@Suite struct DelegationTests: ClientTests {
  let fixture: ClientFixture

  init() throws { fixture = try ClientFixture() }

  /// Returns the targets of `repository`.
  private func refreshed(_ repository: SampleRepository) throws -> TrustedTargets {
    store.put(try repository.published())
    let targets = try client().refresh(initialRoot: sample.root())
    _ = store.takeFetched()
    return targets
  }

  /// The roles that were fetched since the last call, in order.
  private func asked() -> [String] {
    store.takeFetched().map { path in
      String(path.split(separator: ".", maxSplits: 1)[1].dropLast(".json".count))
    }
  }

  /// A graph of delegations, and the order in which its roles are searched.
  struct Graph: CustomTestStringConvertible {
    let testDescription: String
    let edges: [Edge]
    let order: [String]

    struct Edge {
      let from: String
      let to: String
      var terminating = false
      var paths = ["*"]
    }
  }

  static let graphs: [Graph] = [
    Graph(
      testDescription: "siblings in list order",
      edges: [.init(from: "targets", to: "B"), .init(from: "targets", to: "A")],
      order: ["B", "A"]),
    Graph(
      testDescription: "a role's own delegations before its sibling",
      edges: [
        .init(from: "targets", to: "A"), .init(from: "targets", to: "B"),
        .init(from: "A", to: "C"), .init(from: "C", to: "D"), .init(from: "A", to: "E"),
      ],
      order: ["A", "C", "D", "E", "B"]),
    Graph(
      testDescription: "after a terminating role, only the roles that it delegates to",
      edges: [
        .init(from: "targets", to: "A"), .init(from: "targets", to: "B"),
        .init(from: "A", to: "C", terminating: true), .init(from: "A", to: "E"),
        .init(from: "C", to: "D"),
      ],
      order: ["A", "C", "D"]),
    Graph(
      testDescription: "a terminating role without the target in its paths does not end the search",
      edges: [
        .init(from: "targets", to: "A", terminating: true, paths: ["other"]),
        .init(from: "targets", to: "B"),
      ],
      order: ["B"]),
    Graph(
      testDescription: "a circle is visited once",
      edges: [
        .init(from: "targets", to: "A"), .init(from: "A", to: "B"), .init(from: "B", to: "A"),
        .init(from: "B", to: "B"), .init(from: "B", to: "C"),
      ],
      order: ["A", "B", "C"]),
    Graph(
      testDescription: "a role that two roles delegate to is searched once, for the first",
      edges: [
        .init(from: "targets", to: "A"), .init(from: "targets", to: "B"),
        .init(from: "B", to: "C"), .init(from: "A", to: "C"),
      ],
      order: ["A", "C", "B"]),
  ]

  @Test(arguments: graphs)
  func `roles are searched depth first`(_ graph: Graph) throws {
    var repository = SampleRepository(sample)
    for edge in graph.edges {
      try repository.delegate(
        edge.from, to: edge.to, paths: edge.paths, terminating: edge.terminating)
    }
    let targets = try refreshed(repository)
    #expect(code { _ = try targets.target("nowhere") } == .storeMissing)
    #expect(asked() == graph.order)
  }

  @Test func `at most 32 roles are searched for one target`() throws {
    var repository = SampleRepository(sample)
    for number in 1...40 { try repository.delegate("targets", to: "role\(number)") }
    repository.roles["role40"]?.files["file"] = try SampleRepository.file("late")
    let targets = try refreshed(repository)
    #expect(code { _ = try targets.target("file") } == .storeMissing)
    #expect(asked().count == 32)
  }

  @Test func `the first role that lists a target determines it`() throws {
    var repository = SampleRepository(sample)
    let (own, first, second) = (
      try SampleRepository.file("own"), try SampleRepository.file("1"),
      try SampleRepository.file("2")
    )
    repository.files["own"] = own
    try repository.delegate("targets", to: "A")
    try repository.delegate("targets", to: "B")
    repository.roles["A"]?.files = ["shared": first, "own": first]
    repository.roles["B"]?.files = ["shared": second, "late": second]
    let targets = try refreshed(repository)
    #expect(try targets.target("own") == own)
    #expect(asked().isEmpty)
    #expect(try targets.target("shared") == first)
    #expect(asked() == ["A"])
    #expect(try targets.target("late") == second)
    #expect(asked() == ["B"])
  }

  @Test func `a role cannot list a target outside of its paths`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A", paths: ["a/*"])
    repository.roles["A"]?.files["b/file"] = try SampleRepository.file("b")
    repository.roles["A"]?.files["a/b/file"] = try SampleRepository.file("b")
    let targets = try refreshed(repository)
    #expect(code { _ = try targets.target("b/file") } == .storeMissing)
    #expect(code { _ = try targets.target("a/b/file") } == .storeMissing)
    #expect(asked().isEmpty)
  }

  @Test func `hash prefixes determine which roles are searched`() throws {
    var repository = SampleRepository(sample)
    let digits = try Digest(of: Array("some/file".utf8)).hex
    try repository.delegate("targets", to: "no", prefixes: ["zz"])
    try repository.delegate("targets", to: "yes", prefixes: ["zz", String(digits.prefix(3))])
    repository.roles["yes"]?.files["some/file"] = try SampleRepository.file("x")
    let targets = try refreshed(repository)
    #expect(try targets.target("some/file").length == 1)
    #expect(asked() == ["yes"])
  }

  @Test func `the first bits of the name's hash determine the hash bin`() throws {
    var repository = SampleRepository(sample)
    let key = try SigningKey.generate()
    let identifier = key.publicKey.identifier
    repository.delegatedKeys["targets"] = [identifier: key]
    repository.succinct["targets"] = .object([
      "keyids": .array([.string(identifier)]), "threshold": .integer(1),
      "bit_length": .integer(10), "name_prefix": .string("bin"),
    ])
    // Ten bits are three digits: the first three of the hash, shifted by two.
    let digits = try Digest(of: Array("some/file".utf8)).hex
    let number = (Int(digits.prefix(3), radix: 16) ?? 0) >> 2
    let text = String(number, radix: 16)
    let name = "bin-" + String(repeating: "0", count: 3 - text.count) + text
    repository.roles[name] = SampleRepository.Delegated(
      files: ["some/file": try SampleRepository.file("x")], expires: sample.expires, keys: [key])
    let targets = try refreshed(repository)
    #expect(try targets.target("some/file").length == 1)
    #expect(asked() == [name])
  }

  // MARK: Trust in a delegated role

  @Test func `a delegated role must be signed by as many keys as its delegator requires`() throws {
    var repository = SampleRepository(sample)
    let keys = [try SigningKey.generate(), try SigningKey.generate(.ecdsaP256)]
    try repository.delegate("targets", to: "A", keys: keys, threshold: 2)
    repository.roles["A"]?.files["file"] = try SampleRepository.file("x")
    #expect(try refreshed(repository).target("file").length == 1)

    repository.roles["A"]?.keys = [keys[0], keys[0]]
    repository.roles["A"]?.version = 2
    repository.advance()
    let targets = try refreshed(repository)
    let error = #expect(throws: ContentError.self) { try targets.target("file") }
    #expect(error?.code == .signatureInvalid)
    #expect(error?.message.contains("targets version 2") == true)
  }

  @Test func `a role signed for one delegator is not accepted for another delegator`() throws {
    var repository = SampleRepository(sample)
    let (good, bad) = (try SigningKey.generate(), try SigningKey.generate())
    try repository.delegate("targets", to: "A", paths: ["a"])
    try repository.delegate("targets", to: "B", paths: ["b"])
    try repository.delegate("A", to: "C", keys: [good])
    try repository.delegate("B", to: "C", keys: [bad])
    repository.roles["C"]?.files = [
      "a": try SampleRepository.file("a"), "b": try SampleRepository.file("b"),
    ]
    let targets = try refreshed(repository)
    #expect(try targets.target("a").length == 1)
    #expect(code { _ = try targets.target("b") } == .signatureInvalid)
    #expect(try targets.target("a").length == 1)
  }

  @Test func `a stored delegated role is checked again for its current delegator`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    repository.roles["A"]?.files["file"] = try SampleRepository.file("x")
    _ = try refreshed(repository).target("file")
    // The delegator now trusts another key. The role and its version are unchanged.
    let old = try #require(repository.roles["A"]?.keys)
    repository.delegations["targets"] = nil
    try repository.delegate("targets", to: "A", keys: [SigningKey.generate()])
    repository.roles["A"]?.keys = old
    repository.advance()
    let targets = try refreshed(repository)
    #expect(code { _ = try targets.target("file") } == .signatureInvalid)
  }

  @Test func `a stored delegated role is not fetched again, even in another run`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    repository.roles["A"]?.files["file"] = try SampleRepository.file("x")
    _ = try refreshed(repository).target("file")
    let targets = try refreshed(repository)
    #expect(try targets.target("file").length == 1)
    #expect(asked().isEmpty)
  }

  @Test
  func `an expired delegated role is refused, stored or fetched, and replaced by a newer one`()
    throws
  {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    repository.roles["A"]?.files["file"] = try SampleRepository.file("x")
    repository.roles["A"]?.expires = sample.now.addingTimeInterval(100)
    _ = try refreshed(repository).target("file")
    clock.advance(by: 200)
    let targets = try refreshed(repository)
    #expect(code { _ = try targets.target("file") } == .metadataExpired)

    repository.roles["A"]?.expires = sample.now.addingTimeInterval(900)
    repository.roles["A"]?.version = 2
    repository.advance()
    #expect(try refreshed(repository).target("file").length == 1)
  }

  @Test func `a delegated role must match the snapshot`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    var published = try repository.published()
    repository.roles["A"]?.files["file"] = try SampleRepository.file("x")
    published["metadata/1.A.json"] = try repository.published()["metadata/1.A.json"]
    store.put(published)
    let targets = try client().refresh(initialRoot: sample.root())
    // The same key signs other, longer bytes.
    #expect(code { _ = try targets.target("file") } == .digestMismatch)
  }

  @Test func `the error for a missing delegated role names its file`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    let targets = try refreshed(repository)
    store.remove("metadata/1.A.json")
    let error = #expect(throws: ContentError.self) { try targets.target("file") }
    #expect(error?.code == .storeMissing)
    #expect(error?.message.contains("metadata/1.A.json") == true)
  }

  @Test func `a role that the snapshot does not list is refused`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    repository.roles["A"] = nil
    let targets = try refreshed(repository)
    #expect(code { _ = try targets.target("file") } == .metadataDamaged)
    #expect(asked().isEmpty)
  }

  @Test func `a delegated role cannot replace the record of the last refresh`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "last-refresh")
    repository.roles["last-refresh"]?.files["file"] = try SampleRepository.file("x")
    let targets = try refreshed(repository)
    #expect(try targets.target("file").length == 1)
    clock.advance(by: -7200)
    #expect(code { _ = try client().refresh(initialRoot: nil) } == .clockWentBackwards)
  }

  @Test(arguments: ["?", "#", "/delegated", "../delegated", "a b", "ü", "%2e"])
  func `unusual role names are encoded in requests and file names`(_ name: String) throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: name)
    repository.roles[name]?.files["file"] = try SampleRepository.file("x")
    let targets = try refreshed(repository)
    #expect(try targets.target("file").length == 1)
    let encoded = PercentEncoding.component(name)
    #expect(!encoded.contains("/"))
    #expect(store.takeFetched() == ["metadata/1.\(encoded).json"])
    #expect(try folder.opened().status(of: "\(encoded).json")?.kind == .file)
  }

  @Test(arguments: ["root", "timestamp", "snapshot", "targets", "", ".", ".."])
  func `reserved names of delegated roles are refused`(_ name: String) throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: name)
    store.put(try repository.published())
    let client = try client()
    #expect(code { _ = try client.refresh(initialRoot: sample.root()) } == .metadataDamaged)
  }

  @Test func `a duplicate role, and a role without a scope or with two, are refused`() throws {
    var repository = SampleRepository(sample)
    try repository.delegate("targets", to: "A")
    let entry = try #require(repository.delegations["targets"]?.first)
    for bad in [
      [entry, entry], [entry.replacing("paths", with: nil)],
      [entry.replacing("path_hash_prefixes", with: .array([.string("0")]))],
    ] {
      repository.delegations["targets"] = bad
      repository.advance()
      store.put(try repository.published())
      let client = try client()
      #expect(code { _ = try client.refresh(initialRoot: sample.root()) } == .metadataDamaged)
    }
  }
}
