import HostedModel
import FoundationEssentials
import HostedConcurrency
import Testing

@testable import AppUpdate

/// 2026-01-15 12:00 UTC, the start of the tests' clocks.
let noon = Date(timeIntervalSince1970: 1_768_478_400)
let hour = 3600.0
let day = 86_400.0

func version(_ text: String) throws -> AppVersion { try AppVersion(validating: text) }

func app(_ text: String, system: String? = nil) throws -> InstalledApp {
  InstalledApp(
    name: "Courier", version: try AppVersion(validating: text),
    systemVersion: try system.map { try AppVersion(validating: $0) })
}

/// A listing with the fields that most tests need, and additional ones.
func listing(_ version: String, _ more: [String: JSONValue] = [:]) -> AppListing {
  let fields: [String: JSONValue] = [
    "trackId": .integer(364_709_193), "bundleId": .string("com.example.courier"),
    "trackName": .string("Courier"), "version": .string(version),
    "trackViewUrl": .string("https://apps.example.com/us/app/courier/id364709193?uo=4"),
    "currentVersionReleaseDate": .string("2025-12-01T08:00:00Z"),
  ]
  return AppListing(fields: fields.merging(more) { $1 })
}

func link(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// Returns the code of the `ContentError` that an asynchronous `body` throws; nil for no error.
func code(_ body: () async throws -> some Any) async -> ContentError.Code? {
  do {
    _ = try await body()
    return nil
  } catch { return (error as? ContentError)?.code }
}

/// A clock that a test advances.
///
/// Sleeping advances it too.
final class TestClock: Sendable {
  private let state = Mutex((now: noon, slept: [Double]()))

  var now: Date { state.withLock { $0.now } }
  /// The durations of all sleeps.
  var slept: [Double] { state.withLock { $0.slept } }

  func advance(_ seconds: Double) { state.withLock { $0.now += seconds } }

  var clock: AppUpdateClock {
    AppUpdateClock(
      now: { self.now },
      sleep: { seconds in
        self.state.withLock { state in
          state.now += seconds
          state.slept.append(seconds)
        }
      })
  }
}

/// Answers requests with a closure, and records them.
final class ScriptedTransport: LookupTransport {
  private let answer: @Sendable (LookupRequest, Int) throws -> LookupResponse
  private let seen = Mutex<[LookupRequest]>([])

  /// `answer` gets the request and its number, from 0.
  init(_ answer: @escaping @Sendable (LookupRequest, Int) throws -> LookupResponse) {
    self.answer = answer
  }

  /// Answers lookups from `listings` by country.
  convenience init(selling listings: [String: AppListing]) {
    self.init { request, _ in
      let country = request.parameters["country"] ?? "us"
      return .listings(listings[country].map { [$0] } ?? [])
    }
  }

  var requests: [LookupRequest] { seen.withLock { $0 } }

  func get(_ request: LookupRequest) async throws -> LookupResponse {
    let number = seen.withLock { seen in
      seen.append(request)
      return seen.count - 1
    }
    return try answer(request, number)
  }
}

extension LookupRequest {
  /// The parameters of the query.
  var parameters: [String: String] {
    let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
  }
}

extension LookupResponse {
  static func json(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> Self {
    LookupResponse(status: status, headers: headers, body: Array(text.utf8))
  }

  static func listings(_ listings: [AppListing]) -> Self {
    let bytes = try? JSONEncoder().encode(LookupResults(listings))
    return LookupResponse(status: 200, body: bytes.map(Array.init) ?? [])
  }
}
