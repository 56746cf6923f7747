import HostedModel
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import AppUpdate

@Suite("Responses of your own server")
struct CatalogTests {
  static let file = #"""
    {"apps": [
      {"listing": {"trackId": 364709193, "bundleId": "com.example.courier", "trackName": "Courier",
         "sellerName": "Example GmbH", "artistId": 77, "version": "2.1", "minimumOsVersion": "15.0",
         "description": "Sends parcels", "releaseNotes": "Faster", "kind": "software", "upc": "12",
         "currentVersionReleaseDate": "2025-12-01T08:00:00Z", "own": [1],
         "trackViewUrl": "https://apps.example.com/app/id364709193"},
       "countries": ["us", "cn"], "minimumVersion": "1.5", "blockedVersions": ["1.6", "2.1"], "forcedAccounts": ["ada"],
       "downloadUrl": "https://get.example/courier"},
      {"listing": {"trackId": 2, "bundleId": "com.example.mac", "trackName": "Courier for Mac",
         "sellerName": "Example GmbH", "artistId": 77, "version": "1.0", "kind": "mac-software",
         "trackExplicitness": "explicit", "currentVersionReleaseDate": "2026-01-01T08:00:00Z"}},
      {"listing": {"trackId": 3, "bundleId": "com.example.china", "trackName": "快递",
         "version": "1.1"}, "countries": ["cn"]}
    ]}
    """#

  private func catalog(_ text: String = file) throws -> AppCatalog {
    try AppCatalog(json: Array(text.utf8))
  }

  private func parameters(_ query: String) -> [String: String] {
    var parameters: [String: String] = [:]
    for item in query.split(separator: "&") {
      let sides = item.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      parameters[sides[0]] = sides[1]
    }
    return parameters
  }

  private func names(_ path: String, _ query: String) throws -> [Int64] {
    let answer = try #require(try catalog().answer(path: path, parameters: parameters(query)))
    #expect(answer.status == 200)
    return try LookupResults(json: answer.body).listings.compactMap { $0.trackID?.rawValue }
  }

  @Test(
    "Lookups",
    arguments: [
      ("id=364709193", [364_709_193]), ("id=2,364709193", [364_709_193, 2]), ("id=9", []),
      ("bundleId=com.example.MAC", [2]), ("id=364709193&country=cn", [364_709_193]),
      ("bundleId=com.example.china", [3]), ("id=3&country=us", []),
      ("id=364709193&country=DE", []), ("id=2&country=de", [2]), ("upc=12", [364_709_193]),
      ("id=77", []), ("id=77&entity=software", [364_709_193]),
      ("id=77&entity=macSoftware", [2]), ("id=2&entity=software", []),
      ("id=2,3&sort=recent", [2, 3]), ("id=3,364709193,2&sort=recent", [2, 364_709_193, 3]),
      ("id=364709193,2&sort=recent&limit=1", [2]),
    ] as [(String, [Int64])])
  func lookup(query: String, found: [Int64]) throws {
    #expect(try names("/lookup", query) == found)
  }

  @Test(
    "Searches",
    arguments: [
      ("term=courier", [364_709_193, 2]), ("term=COURIER mac", [2]), ("term= mac  courier", [2]),
      ("term=parcels", [364_709_193]), ("term=courier&entity=macSoftware", [2]),
      ("term=courier&entity=software", [364_709_193]), ("term=gmbh&attribute=titleTerm", []),
      ("term=gmbh&attribute=softwareDeveloper", [364_709_193, 2]),
      ("term=courier&explicit=No", [364_709_193]), ("term=courier&limit=1", [364_709_193]),
      ("term=courier&country=fr", [2]), ("term=nothing", []),
    ] as [(String, [Int64])])
  func search(query: String, found: [Int64]) throws {
    #expect(try names("/search", query) == found)
  }

  @Test(
    "Version queries",
    arguments: [
      ("version=1.0", true, true), ("version=1.4.9", true, true), ("version=1.5", true, false),
      ("version=1.6", true, true), ("version=1.6.1", true, false),
      ("version=2.1", false, false), ("version=2.1.0", false, false), ("version=3.0", false, false),
      ("version=2.0&account=ada", true, true), ("version=2.1&account=ada", false, false),
      ("version=2.0&account=bob", true, false), ("version=v2.0", true, false),
    ])
  func version(query: String, isNew: Bool, isNeeded: Bool) throws {
    let whole = "bundleId=com.example.courier&" + query
    let answer = try #require(
      try catalog().answer(path: "/app-version", parameters: parameters(whole)))
    let read = try AppVersionAnswer(json: answer.body)
    #expect(answer.status == 200)
    #expect(read.hasNewVersion == isNew)
    #expect(read.requiresUpdate == isNeeded)
    #expect(read.versionText == "2.1")
    #expect(read.downloadURL == (try link("https://get.example/courier")))
    #expect(read.minimumOSVersion?.rawValue == "15.0")
    let byNumber = try catalog().answer(
      path: "/app-version", parameters: parameters("id=364709193&\(query)"))
    #expect(byNumber == answer)
  }

  @Test("An app sold in one country is found in that country and without a country")
  func soldInOneCountry() throws {
    for (query, status) in [("", 200), ("&country=cn", 200), ("&country=us", 404)] {
      let question = parameters("bundleId=com.example.china&version=1.0" + query)
      let answer = try catalog().answer(path: "/app-version", parameters: question)
      #expect(answer?.status == status, "\(query)")
    }
    #expect(try names("/search", "term=快递") == [3])
  }

  @Test(
    "Invalid queries are refused with a message",
    arguments: [
      ("/lookup", "", 400), ("/lookup", "id=1&country=usa", 400), ("/lookup", "id=1&limit=0", 400),
      ("/search", "", 400), ("/search", "term=", 400), ("/search", "term=x&limit=201", 400),
      ("/app-version", "bundleId=com.example.courier", 400),
      ("/app-version", "bundleId=com.example.courier&version=x", 400),
      ("/app-version", "bundleId=com.example.none&version=1", 404),
      ("/app-version", "version=1", 404),
    ])
  func refused(path: String, query: String, status: Int) throws {
    let answer = try #require(try catalog().answer(path: path, parameters: parameters(query)))
    #expect(answer.status == status)
    #expect(String(decoding: answer.body, as: UTF8.self).contains("errorMessage"))
  }

  @Test("Other paths are not handled")
  func otherPaths() throws {
    for path in ["/", "/lookup/", "/apps.json", "lookup"] {
      #expect(try catalog().answer(path: path, parameters: parameters("id=2")) == nil)
    }
  }

  @Test("Unknown fields of a listing are served unchanged")
  func unknownFields() throws {
    let answer = try #require(
      try catalog().answer(path: "/lookup", parameters: parameters("id=364709193")))
    let app = try #require(LookupResults(json: answer.body).listings.first)
    #expect(app.otherFields["own"] == .array([.integer(1)]))
    #expect(app.fields == (try catalog().apps[0].listing.fields))
  }

  @Test(
    "An invalid file is refused, and the error names the app",
    arguments: [
      ("", "cannot be read"), ("{}", "apps"), (#"{"apps":{}}"#, "apps"),
      (#"{"apps":[1]}"#, "app 1"),
      (#"{"apps":[{"listing":{"trackId":1}}]}"#, "app 1"),
      (#"{"apps":[{"listing":{"version":"1"}}]}"#, "app 1"),
      (#"{"apps":[{"listing":{"trackId":1,"version":"x"}}]}"#, "app 1"),
      (#"{"apps":[{"listing":{"trackId":1,"version":"1"},"countries":["uk"]}]}"#, "app 1"),
      (#"{"apps":[{"listing":{"trackId":1,"version":"1"},"minimumVersion":"x"}]}"#, "app 1"),
      (#"{"apps":[{"listing":{"trackId":1,"version":"1"},"downloadUrl":"file:///x"}]}"#, "app 1"),
    ])
  func wrongFile(text: String, hint: String) {
    let error = #expect(throws: ContentError.self) { try catalog(text) }
    #expect(error?.code == .storeDamaged)
    #expect(error?.message.contains(hint) == true)
  }

  struct WrongField: Sendable {
    /// Replaces `X` in line 3 of the file.
    let member: String
    let field: String
  }

  static let wrongFields = [
    WrongField(member: #""minVersion": "1""#, field: "minVersion"),
    WrongField(member: #""forceAccounts": []"#, field: "forceAccounts"),
    WrongField(member: #""forcedAccounts": "ada""#, field: "forcedAccounts"),
    WrongField(member: #""forcedAccounts": ["ada", 7]"#, field: "forcedAccounts"),
    WrongField(member: #""forcedAccounts": null"#, field: "forcedAccounts"),
    WrongField(member: #""minimumVersion": true"#, field: "minimumVersion"),
    WrongField(member: #""minimumVersion": 1.10"#, field: "minimumVersion"),
    WrongField(member: #""minimumVersion": """#, field: "minimumVersion"),
    WrongField(member: #""minimumVersion": "3.0""#, field: "minimumVersion"),
    WrongField(member: #""countries": "us""#, field: "countries"),
    WrongField(member: #""countries": ["us", 1]"#, field: "countries"),
    WrongField(member: #""downloadUrl": 1"#, field: "downloadUrl"),
  ]

  @Test(
    "An unknown name or a wrong type is an error with file, line and field", arguments: wrongFields)
  func wrongField(one: WrongField) throws {
    let text = """
      {"apps": [{"listing": {"trackId": 1, "version": "1"}},
        {"listing": {"trackId": 2, "version": "2"},
         \(one.member)}]}
      """
    let error = #expect(throws: ContentError.self) {
      try AppCatalog(json: Array(text.utf8), source: "store/apps.json")
    }
    #expect(error?.code == .storeDamaged)
    let message = try #require(error?.message)
    for part in ["store/apps.json", "line 3", "app 2", one.field] {
      #expect(message.contains(part), "\(message)")
    }
  }

  static let wrongListings = [
    #""version": 2.10, "trackId": 1"#, #""version": "2", "trackId": "x""#,
    #""version": "2", "bundleId": 7"#, #""version": "2", "trackId": 1, "minimumOsVersion": 15"#,
    #""version": "2", "trackId": 1, "minimumOsVersion": "new""#,
    #""version": "2", "trackId": 1, "currentVersionReleaseDate": "soon""#,
    #""version": "2", "trackId": 1, "trackViewUrl": "example.com""#,
  ]

  @Test(
    "Fields of the listing that the server uses must have the correct type",
    arguments: wrongListings)
  func wrongListing(members: String) {
    #expect(code { try catalog("{\"apps\": [{\"listing\": {\(members)}}]}") } == .storeDamaged)
  }

  @Test("An unknown top-level name is refused")
  func wrongName() {
    #expect(code { try catalog(#"{"apps": [], "app": []}"#) } == .storeDamaged)
  }

  // MARK: The file

  private func write(_ text: String, to folder: TemporaryFolder) throws {
    try folder.directory.replaceFile(AppCatalogFile.name, with: Array(text.utf8))
  }

  private func write(version: String, to folder: TemporaryFolder) throws {
    try write(#"{"apps":[{"listing":{"trackId":2,"version":"\#(version)"}}]}"#, to: folder)
  }

  private func served(by file: AppCatalogFile) throws -> String? {
    let answer = try file.answer(path: "/lookup", parameters: parameters("id=2"))
    return try answer.flatMap { try LookupResults(json: $0.body).listings.first?.versionText }
  }

  @Test("While the changed file is invalid, the last valid one is served")
  func lastValidFile() throws {
    let folder = try TemporaryFolder()
    let file = AppCatalogFile(in: folder.directory)
    try write(version: "1.0", to: folder)
    #expect(try served(by: file) == "1.0")
    for wrong in ["{", #"{"apps":[{"listing":{"trackId":2,"version":"2.0"},"minVersion":"1"}]}"#] {
      try write(wrong, to: folder)
      #expect((try? served(by: file)) == "1.0")
    }
    try write(version: "2.1", to: folder)
    #expect(try served(by: file) == "2.1")
  }

  @Test("A changed file that could not be read is read again, and the error is reported once")
  func unreadableFile() throws {
    let folder = try TemporaryFolder()
    let isUnreadable = Watched(false)
    let errors = Watched<[ContentError.Code]>([])
    let fileSystem = FileSystem { operation, path in
      guard operation == .open, path.hasSuffix(AppCatalogFile.name), isUnreadable.value else {
        return
      }
      throw FaultPlan.diskFull
    }
    let file = AppCatalogFile(in: try folder.opened(fileSystem)) { error in
      errors.change { $0.append(error.code) }
    }
    try write(version: "1.0", to: folder)
    #expect(try served(by: file) == "1.0")
    try write(version: "2.0", to: folder)
    isUnreadable.change { $0 = true }
    for _ in 0..<2 { #expect(try served(by: file) == "1.0") }
    #expect(errors.value == [.diskFull])
    isUnreadable.change { $0 = false }
    #expect(try served(by: file) == "2.0")
  }

  @Test("An invalid file is read once until it changes, also if there was no valid one")
  func invalidFile() throws {
    let folder = try TemporaryFolder()
    let reads = Watched(0)
    let fileSystem = FileSystem { operation, path in
      guard operation == .open, path.hasSuffix(AppCatalogFile.name) else { return }
      reads.change { $0 += 1 }
    }
    let file = AppCatalogFile(in: try folder.opened(fileSystem))
    try write("{", to: folder)
    for _ in 0..<2 { #expect(code { try served(by: file) } == .storeDamaged) }
    #expect(reads.value == 1)
    try write(version: "1.0", to: folder)
    #expect(try served(by: file) == "1.0")
  }

  @Test("The file is read again after a change, and may be missing")
  func changedFile() throws {
    let folder = try TemporaryFolder()
    let file = AppCatalogFile(in: folder.directory)
    #expect(try file.answer(path: "/lookup", parameters: parameters("id=2")) == nil)
    for version in ["1.0", "2.0", "3.0"] {
      try write(version: version, to: folder)
      for _ in 0..<2 { #expect(try served(by: file) == version) }
    }
  }

  @Test("Randomly damaged files are accepted or refused with a typed error", .slow)
  func damagedBytes() throws {
    var random = SplitMix(state: 23)
    let original = Array(Self.file.utf8)
    for _ in 0..<1500 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + 40))
        }
      }
      let codes = [
        code { try AppCatalog(json: bytes) }, code { try LookupResults(json: bytes) },
        code { try AppVersionAnswer(json: bytes) }, code { try UpdatePush(json: bytes) },
      ]
      #expect(codes.allSatisfy { $0 == nil || $0 == .storeDamaged || $0 == .answerUnreadable })
    }
  }
}
