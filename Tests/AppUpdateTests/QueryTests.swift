import HostedModel
import FoundationEssentials
import HostedTestSupport
import Testing

@testable import AppUpdate

@Suite("Queries to a store")
struct QueryTests {
  @Test(
    "The Apple ID is read from a number or a link",
    arguments: [
      "364709193", "id364709193", "https://apps.apple.com/de/app/some-name/id364709193?mt=8",
      "https://apps.apple.com/app/id364709193",
      "http://itunes.apple.com/us/app/x/id364709193?mt=8&uo=4",
      "itms-apps://itunes.apple.com/app/id364709193",
      "https://apps.apple.com/us/app/id364709193#part",
      "https://phobos.apple.com/WebObjects/MZStore.woa/wa/viewSoftware?id=364709193&mt=8",
      "https://apps.apple.com/cn/app/%E5%BE%AE%E4%BF%A1/id364709193",
      "https://apps.apple.com/us/app/idea-box-id2/id364709193/",
    ])
  func identifier(text: String) throws {
    #expect(try AppleID(validating: text).rawValue == 364_709_193)
  }

  @Test(
    "Text without an Apple ID is refused",
    arguments: [
      "", "0", "-1", "id", "id0", "x", "https://apps.apple.com/us/app/name",
      "https://apps.apple.com/us/app/id12x", "99999999999999999999", "https://example.com/?i=5",
      "１２", "12 3", String(repeating: "1", count: 3000), "?#/", "/", "#/", "?/", "//#id1?id=1",
    ])
  func noIdentifier(text: String) {
    #expect(code { try AppleID(validating: text) } == .appIdentifierInvalid)
  }

  @Test("A number is an Apple ID from 1", arguments: [0, -1, Int64.min, 1, Int64.max])
  func number(number: Int64) {
    #expect(AppleID(rawValue: number)?.rawValue == (number < 1 ? nil : number))
  }

  @Test(
    "Assigned country codes are accepted", arguments: ["us", "US", "cn", "Gb", "de", "ru", "xk"])
  func country(text: String) throws {
    #expect(try CountryCode(validating: text).rawValue == text.lowercased())
  }

  @Test(
    "Languages, locales and three letters are refused as countries",
    arguments: ["en", "en_US", "zh-CN", "usa", "u", "", "xx", "uk", "zz", "d1", "ＵＳ"])
  func noCountry(text: String) {
    #expect(code { try CountryCode(validating: text) } == .countryInvalid)
  }

  @Test("The error for a locale names its country")
  func localeRemedy() {
    for (text, hint) in [("en_US", "“us”"), ("zh-CN", "“cn”"), ("uk", "gb")] {
      let error = #expect(throws: ContentError.self) { try CountryCode(validating: text) }
      #expect(error?.remedy.contains(hint) == true)
    }
  }

  @Test("A lookup's URL has the parameters of the server's documentation")
  func lookupParameters() throws {
    let query = LookupQuery(
      .ids([1, 22]), country: "cn", entity: "software", limit: 5, sortsNewestFirst: true)
    #expect(
      try query.parameters().map(\.encoded) == [
        "id=1%2C22", "country=cn", "entity=software", "limit=5", "sort=recent",
      ])
    let keys: [(LookupQuery.Key, String)] = [
      (.bundleIDs(["com.example.a-b"]), "bundleId=com.example.a-b"),
      (.amgArtistIDs([468_749]), "amgArtistId=468749"),
      (.upcs(["720642462928"]), "upc=720642462928"),
      (.isbns(["9780316069359"]), "isbn=9780316069359"),
    ]
    for (key, text) in keys {
      #expect(try LookupQuery(key).parameters().map(\.encoded) == [text])
    }
  }

  @Test("A search's URL has its parameters, escaped")
  func searchParameters() throws {
    var query = SearchQuery("jack & johnson+ü", country: .us)
    query.attribute = "softwareDeveloper"
    query.limit = 200
    query.language = "ja_jp"
    query.version = 2
    query.includesExplicit = false
    #expect(
      try query.parameters().map(\.encoded) == [
        "term=jack%20%26%20johnson%2B%C3%BC", "country=us", "entity=software", "limit=200",
        "media=software", "attribute=softwareDeveloper", "lang=ja_jp", "version=2", "explicit=No",
      ])
  }

  @Test("Parameters out of range are refused before anything is sent")
  func outOfRange() async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let lookup = AppLookup(transport: transport)
    let id: AppleID = 1
    let wrong: [LookupQuery] = [
      LookupQuery(.ids([])), LookupQuery(.ids(Array(repeating: id, count: 201))),
      LookupQuery(.ids([id]), limit: 0), LookupQuery(.ids([id]), limit: 201),
      LookupQuery(.ids([id]), entity: "a&b"),
    ]
    for query in wrong {
      #expect(await code { try await lookup.lookUp(query) } == .queryInvalid)
    }
    for bundle in ["", "a b", "a/b", "a,b", "ü"] {
      let query = LookupQuery(.bundleIDs([bundle]))
      #expect(await code { try await lookup.lookUp(query) } == .appIdentifierInvalid)
    }
    var search = SearchQuery("x")
    search.version = 3
    #expect(await code { try await lookup.search(search) } == .queryInvalid)
    #expect(await code { try await lookup.search(SearchQuery("")) } == .queryInvalid)
    #expect(transport.requests.isEmpty)
  }

  @Test("A query whose URL is too long is refused before anything is sent")
  func longURL() async throws {
    let transport = ScriptedTransport { _, _ in .listings([]) }
    let lookup = AppLookup(transport: transport)
    let codes: [(Int, ContentError.Code?)] = [(35, nil), (60, .queryInvalid)]
    for (length, expected) in codes {
      let identifiers = (100..<300).map { "\($0)" + String(repeating: "a", count: length - 3) }
      let query = LookupQuery(.bundleIDs(identifiers))
      #expect(await code { try await lookup.lookUp(query) } == expected)
    }
    #expect(transport.requests.count == 1)
  }

  @Test("A server's user name is refused, and its password is not in the error")
  func userName() async throws {
    let lookup = AppLookup(
      .init(server: try link("https://ada:secret@example.com")),
      transport: ScriptedTransport { _, _ in .listings([]) })
    let error = await #expect(throws: ContentError.self) {
      try await lookup.lookUp(LookupQuery(.ids([1])))
    }
    #expect(error?.code == .usage)
    #expect(error?.description.contains("secret") == false)
  }

  @Test(
    "An invalid server URL is refused",
    arguments: ["ftp://example.com", "/local", "https:///x", "https://example.com/?a=b"])
  func noServer(text: String) async throws {
    let lookup = AppLookup(
      .init(server: try link(text)), transport: ScriptedTransport { _, _ in .listings([]) })
    let query = LookupQuery(.ids([1]))
    #expect(await code { try await lookup.lookUp(query) } == .queryInvalid)
  }
}
