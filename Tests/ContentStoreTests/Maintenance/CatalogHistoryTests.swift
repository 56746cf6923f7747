import HostedTrust
import FoundationEssentials
import Testing

@testable import ContentStore

/// Which catalogs clients may still use.
@Suite("The history of catalogs")
struct CatalogHistoryTests {
  private static let day: TimeInterval = 86_400

  /// Returns catalogs of version 1 on, written on `days`.
  private func catalogs(_ days: [Double]) throws -> [CatalogVersion] {
    try days.enumerated().map { number, day in
      let version = Int64(number + 1)
      return CatalogVersion(
        snapshot: version, targets: try MetadataFile(version: version, bytes: []),
        written: Date(timeIntervalSince1970: day * Self.day))
    }
  }

  /// Returns the versions that are kept since `day`.
  private func kept(
    _ days: [Double], current: Int64, since day: Double, now: Double = 200
  ) throws -> [Int64] {
    try catalogs(days)
      .divided(
        current: current, since: Date(timeIntervalSince1970: day * Self.day),
        now: Date(timeIntervalSince1970: now * Self.day)
      )
      .kept.map(\.snapshot)
  }

  @Test("A catalog is kept if its successor was written in the last days")
  func successor() throws {
    let days: [Double] = [1, 10, 20, 30]
    #expect(try kept(days, current: 4, since: 5) == [1, 2, 3, 4])
    #expect(try kept(days, current: 4, since: 10) == [1, 2, 3, 4])
    #expect(try kept(days, current: 4, since: 10.5) == [2, 3, 4])
    #expect(try kept(days, current: 4, since: 25) == [3, 4])
    #expect(try kept(days, current: 4, since: 31) == [4])
  }

  @Test("The current catalog and higher versions are always kept")
  func current() throws {
    #expect(try kept([1, 2, 3, 4], current: 2, since: 100) == [2, 3, 4])
    #expect(try kept([1], current: 1, since: 100) == [1])
    #expect(try kept([], current: 1, since: 100) == [])
  }

  @Test("A clock that was set back does not make a catalog older")
  func clock() throws {
    // Version 3 was written after version 2, although its time is earlier.
    #expect(try kept([10, 40, 5, 41], current: 4, since: 30) == [1, 2, 3, 4])
  }

  @Test("A clock that was far ahead once does not keep later catalogs")
  func future() throws {
    #expect(try kept([1, 9_000, 20, 30, 40], current: 5, since: 15, now: 45) == [1, 2, 3, 4, 5])
    #expect(try kept([1, 9_000, 20, 30, 40], current: 5, since: 35, now: 65) == [4, 5])
    // Unknown until when they were current.
    #expect(try kept([1, 9_000, 9_001], current: 3, since: 35, now: 65) == [1, 2, 3])
  }

  @Test("Catalogs that are not kept are the others")
  func others() throws {
    let (kept, others) = try catalogs([1, 10, 20])
      .divided(
        current: 3, since: Date(timeIntervalSince1970: 15 * Self.day),
        now: Date(timeIntervalSince1970: 45 * Self.day))
    #expect(kept.map(\.snapshot) == [2, 3])
    #expect(others.map(\.snapshot) == [1])
  }
}
