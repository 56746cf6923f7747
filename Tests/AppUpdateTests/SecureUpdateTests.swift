import HostedModel
import FoundationEssentials
import HostedFileServer
import HostedTestSupport
import Testing

@testable import AppUpdate

/// A forced update must come over HTTPS.
@Suite("Secure updates")
struct SecureUpdateTests {
  static let manifest = "itms-services://?action=download-manifest&url=https://get.example/m.plist"

  private let key: LookupQuery.Key = .bundleIDs(["com.example.courier"])

  // MARK: Servers

  @Test(
    "A server over plain HTTP is not called",
    arguments: [
      "http://example.com", "HTTP://example.com", "http://127.0.0.1.example.com",
      "http://localhost.example.com", "http://0.0.0.0", "http://10.0.0.1", "http://128.0.0.1",
      "http://[2001:db8::1]", "http://[::]", "http://127.example.com",
    ])
  func plainServer(text: String) async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let server = try link(text)
    let lookup = AppLookup(.init(server: server), transport: transport)
    #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == .insecureConnectionRefused)
    #expect(await code { try await lookup.search(SearchQuery("a")) } == .insecureConnectionRefused)
    let source = ServerUpdateSource(server: server, bundleID: "a.b", transport: transport)
    let app = try app("1.0")
    #expect(
      await code { try await source.answer(for: app, account: nil) } == .insecureConnectionRefused)
    #expect(transport.requests.isEmpty)
    let request = LookupRequest(url: server)
    #expect(
      await code { try await HTTPLookupTransport().get(request) } == .insecureConnectionRefused)
  }

  @Test(
    "Servers over HTTPS and on this machine are called",
    arguments: [
      "https://example.com", "http://127.0.0.1:8080", "http://127.255.0.9", "http://localhost/a",
      "http://LOCALHOST", "http://[::1]:8080",
    ])
  func secureServer(text: String) async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let lookup = AppLookup(.init(server: try link(text)), transport: transport)
    #expect(try await lookup.lookUp(LookupQuery(key)).listings.isEmpty)
    #expect(transport.requests.count == 1)
  }

  @Test("A redirect from this machine to plain HTTP on another is refused")
  func redirect() async throws {
    let other = try AppServer()
    try other.offer("9.0")
    // The same machine, with an address that is not a loopback address.
    let elsewhere = "http://0.0.0.0:\(other.server.port)"
    let server = try AppServer(faults: "* redirect \(elsewhere){path}")
    try server.offer("2.0")
    let lookup = try server.lookup()
    #expect(await code { try await lookup.lookUp(LookupQuery(key)) } == .insecureConnectionRefused)
  }

  // MARK: Links

  static let refused = [
    "http://get.example/app", "HTTP://get.example/app", "http://localhost.example.com/",
    "itms-services://?action=download-manifest&url=http://get.example/m.plist",
    "itms-services://?action=download-manifest",
    "itms-services://?action=download-manifest&url=https://a.example/&url=http://b.example/",
    "itms-services://?action=download-manifest&url=https://a.example/&URL=http://b.example/",
    "itms-services://?action=download-manifest&url=javascript:alert(1)",
    "itms-services://?action=download-manifest&url=https:///m.plist",
    "javascript:alert(1)", "file:///bin/sh", "data:text/html,x", "intent://scan/#Intent;end",
    "ftp://get.example/a", "//get.example/a", "https:///a", "https:get.example", "",
  ]

  @Test("An insecure link is not in a decision, prompt or error", arguments: refused)
  func refusedLinks(text: String) throws {
    for allowsITMSServices in [false, true] {
      var policy = AppUpdatePolicy()
      policy.allowsITMSServices = allowsITMSServices
      for offer in offers(text) {
        #expect(try decide(offer, policy).downloadURL == nil, "\(offer.origin)")
      }
      let url = URL(string: text)
      var offer = UpdateOffer(AppVersionAnswer(hasNewVersion: true, requiresUpdate: true))
      offer.downloadURL = url
      #expect(try decide(offer, policy).downloadURL == nil, "an offer of another source")
    }
    #expect(AppVersionAnswer(fields: ["downloadUrl": .string(text)]).downloadURL == nil)
    #expect(UpdatePush(fields: ["downloadUrl": .string(text)]).downloadURL == nil)
  }

  @Test(
    "Links with HTTPS and store schemes are kept",
    arguments: [
      "https://get.example/app", "HTTPS://get.example/app", "itms-apps://get.example/app/id1",
      "itms-appss://x.example/", "macappstore://x.example/", "market://details?id=a.b",
      "http://127.0.0.1:8080/app", "http://localhost/app",
    ])
  func keptLinks(text: String) throws {
    for offer in offers(text) {
      #expect(try decide(offer, AppUpdatePolicy()).downloadURL?.absoluteString == text)
    }
  }

  @Test("A decision has an itms-services link only if the policy allows it")
  func itmsServices() throws {
    var policy = AppUpdatePolicy()
    for offer in offers(Self.manifest) { #expect(try decide(offer, policy).downloadURL == nil) }
    policy.allowsITMSServices = true
    let links = try offers(Self.manifest).map { try decide($0, policy).downloadURL?.absoluteString }
    #expect(links == [Self.manifest, nil], "a store's lookup never bypasses the store")
  }

  private func offers(_ link: String) -> [UpdateOffer] {
    [
      UpdateOffer(
        AppVersionAnswer(fields: ["needUpgrade": .bool(true), "downloadUrl": .string(link)])),
      UpdateOffer(listing("2.0", ["trackViewUrl": .string(link)])),
    ]
  }

  private func decide(_ offer: UpdateOffer, _ policy: AppUpdatePolicy) throws -> UpdateDecision {
    policy.decision(
      about: offer, installed: try app("1.0"), history: UpdateHistory(), now: noon)
  }

  // MARK: Forced updates

  private func state(
    _ memory: UpdateMemory = UpdateMemory(), allowsITMSServices: Bool = false
  ) throws -> UpdateCheckState {
    var policy = AppUpdatePolicy(all: .critical)
    policy.allowsITMSServices = allowsITMSServices
    return UpdateCheckState(
      memory: memory, installed: try app("1.0"), policy: policy, checkInterval: hour,
      pushTypes: [UpdatePush.defaultType], storeURL: try link("https://store.example/app"))
  }

  private static func demand(_ link: String) -> AppVersionAnswer {
    AppVersionAnswer(fields: ["needUpgrade": .bool(true), "downloadUrl": .string(link)])
  }

  @Test(
    "A forced update with an insecure link uses the store's link, and reports the error",
    arguments: ["http://get.example/app", manifest])
  func forced(text: String) throws {
    let store = try link("https://store.example/app")
    for event in [
      UpdateCheckState.Event.loggedIn(account: "ada", Self.demand(text)),
      .looked(UpdateOffer(Self.demand(text)), account: nil),
    ] {
      var state = try state()
      let effects = state.apply(event, at: noon)
      #expect(effects.reportedCodes == [.insecureConnectionRefused])
      #expect(state.requirement?.decision.downloadURL == store)
      #expect(effects.closesGate)
    }
    var state = try state()
    _ = state.apply(.loggedIn(account: "ada", nil), at: noon)
    let effects = state.apply(.pushed(CheckStateTests.push(link: text)), at: noon)
    #expect(effects.reportedCodes == [.insecureConnectionRefused])
    #expect(state.requirement?.decision.downloadURL == store)
  }

  @Test("A reminder with an insecure link uses the store's link, without a report")
  func reminded() throws {
    var state = try state()
    let answer = AppVersionAnswer(
      hasNewVersion: true, requiresUpdate: false, downloadURL: try link("http://get.example"))
    let effects = state.apply(.loggedIn(account: "ada", answer), at: noon)
    #expect(effects.presented?.downloadURL == (try link("https://store.example/app")))
    #expect(effects.reportedCodes.isEmpty)
  }

  @Test("A saved link is checked again when the app starts")
  func remembered() throws {
    var allowing = try state(allowsITMSServices: true)
    _ = allowing.apply(.loggedIn(account: "ada", Self.demand(Self.manifest)), at: noon)
    #expect(allowing.requirement?.decision.downloadURL?.absoluteString == Self.manifest)
    let kept = try state(allowing.memory, allowsITMSServices: true)
    #expect(kept.requirement?.decision.downloadURL?.absoluteString == Self.manifest)
    #expect(
      try state(allowing.memory).requirement?.decision.downloadURL
        == (try link("https://store.example/app")))

    var memory = allowing.memory
    let text = String(decoding: try JSONEncoder().encode(memory), as: UTF8.self)
      .replacing("itms-services:", with: "javascript:")
    memory = try JSONDecoder().decode(UpdateMemory.self, from: Data(text.utf8))
    #expect(
      try state(memory, allowsITMSServices: true).requirement?.decision.downloadURL
        == (try link("https://store.example/app")))
  }

  @Test("A requirement that was saved without a link gets the store's link at the next start")
  func savedWithoutLink() throws {
    var first = UpdateCheckState(
      memory: UpdateMemory(), installed: try app("1.0"), policy: AppUpdatePolicy(),
      checkInterval: hour, pushTypes: [], storeURL: nil)
    _ = first.apply(.loggedIn(account: "ada", Self.demand(Self.manifest)), at: noon)
    #expect(first.requirement != nil && first.requirement?.decision.downloadURL == nil)
    let next = try state(first.memory)
    #expect(next.requirement?.decision.downloadURL == (try link("https://store.example/app")))
  }

  @Test("A link that a new policy does not permit is replaced at once")
  func newPolicy() throws {
    var state = try state(allowsITMSServices: true)
    _ = state.apply(.loggedIn(account: "ada", Self.demand(Self.manifest)), at: noon)
    let effects = state.apply(.policyChanged(AppUpdatePolicy()), at: noon)
    #expect(effects.first == .save && effects.closesGate)
    let store = try link("https://store.example/app")
    #expect(state.requirement?.decision.downloadURL == store)
  }

  @Test("A store link that a new policy does not permit is not used")
  func newPolicyForStore() throws {
    var policy = AppUpdatePolicy(all: .critical)
    policy.allowsITMSServices = true
    var state = UpdateCheckState(
      memory: UpdateMemory(), installed: try app("1.0"), policy: policy, checkInterval: hour,
      pushTypes: [], storeURL: try link(Self.manifest))
    _ = state.apply(.loggedIn(account: "ada", Self.demand("javascript:1")), at: noon)
    #expect(state.requirement?.decision.downloadURL?.absoluteString == Self.manifest)
    _ = state.apply(.policyChanged(AppUpdatePolicy()), at: noon)
    #expect(state.requirement != nil && state.requirement?.decision.downloadURL == nil)
  }

  @Test("A checker with an insecure store link is refused")
  func storeLink() throws {
    let folder = try TemporaryFolder()
    var configuration = AppUpdateChecker.Configuration(
      app: try app("1.0"), folder: URL(filePath: folder.path))
    configuration.storeURL = try link("http://store.example/app")
    #expect(
      code { try AppUpdateChecker(configuration, source: ScriptedSource(nil)) }
        == .insecureConnectionRefused)
    for text in ["javascript:alert(1)", "file:///app", "unknown://store.example/app"] {
      configuration.storeURL = try link(text)
      #expect(code { try AppUpdateChecker(configuration, source: ScriptedSource(nil)) } == .usage)
    }
    configuration.storeURL = try link("https://store.example/app")
    _ = try AppUpdateChecker(configuration, source: ScriptedSource(nil))
  }

  @Test("A server's file with a link over plain HTTP is refused")
  func catalogFile() throws {
    func read(_ link: String) throws {
      let app = #"{"listing": {"trackId": 1, "version": "1"}, "downloadUrl": "\#(link)"}"#
      _ = try AppCatalog(json: Array(#"{"apps": [\#(app)]}"#.utf8))
    }
    #expect(code { try read("http://get.example/app") } == .storeDamaged)
    try read("https://get.example/app")
    try read(Self.manifest)
  }

  @Test("A product page never links to plain HTTP or bypasses the store")
  func page() throws {
    for text in ["http://get.example/app", Self.manifest] {
      let url = ProductPageParameters(itemIdentifier: 5).pageURL(
        of: listing("1.0", ["trackViewUrl": .string(text)]))
      #expect(url?.absoluteString == "https://apps.apple.com/app/id5")
    }
  }
}

extension [UpdateCheckState.Effect] {
  fileprivate var reportedCodes: [ContentError.Code] {
    compactMap { if case .report(let error) = $0 { error.code } else { nil } }
  }
}
