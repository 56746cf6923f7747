import HostedModel
import HostedDigests
import Dispatch
import HostedFileIO
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedPackage

@Suite("Looking up names before files are created")
struct DirectoryCachePrewarmerTests {
  /// The paths that were looked up, relative to the folder.
  private final class Looks: Sendable {
    private let paths = Mutex<[String]>([])
    let last = DispatchSemaphore(value: 0)

    var all: [String] { paths.withLock { $0 } }

    /// Returns a folder that records lookups.
    ///
    /// `last` is signaled after a path that ends with `end`.
    func folder(at path: String, end: String = "") throws -> Directory {
      let system = FileSystem(willPerform: { [self] step, looked in
        guard step == .status, looked.hasPrefix(path) else { return }
        paths.withLock { $0.append(String(looked.dropFirst(path.count + 1))) }
        if !end.isEmpty, looked.hasSuffix(end) { last.signal() }
      })
      return try system.directory(at: path)
    }
  }

  private func index(large: Int64 = 1) throws -> PackageIndex {
    let digest = try Digest(of: [])
    let length = 1 << 20
    let count = Int(large)
    let size = Int64(count * length)
    let members = (0..<(count + 3)).map { _ in
      IndexedMember(
        packedLength: length, plainLength: length, digest: digest, plainDigest: digest)
    }
    return PackageIndex(
      packageLength: Int64(members.count * length) + 100,
      payload: PayloadIndex(
        offset: 50, members: members,
        dataOffsets: [0, 0, 0, 1, 2, 3].map { Int64($0 * length) }),
      files: [
        IndexedFile(path: "ContentInfo.plist", kind: .file, size: Int64(length), digest: digest),
        IndexedFile(path: "Contents", kind: .directory),
        IndexedFile(path: "Contents/a", kind: .directory),
        IndexedFile(path: "Contents/a/1", kind: .file, size: Int64(length), digest: digest),
        IndexedFile(path: "Contents/a/2", kind: .file, size: Int64(length), digest: digest),
        IndexedFile(path: "Contents/large", kind: .file, size: size, digest: digest),
      ])
  }

  private func prewarmer(_ survey: PackageSurvey, _ folder: TemporaryFolder, _ looks: Looks) throws
    -> DirectoryCachePrewarmer
  {
    DirectoryCachePrewarmer(survey: survey, folder: try looks.folder(at: folder.path))
  }

  @Test("Each file's name is looked up once, in order, and nothing is created")
  func names() throws {
    let folder = try TemporaryFolder()
    let survey = try PackageSurvey(of: index(), name: "x.pkg", staging: nil, reusing: [])
    try folder.directory.createDirectory("Contents").createDirectory("a")
    let looks = Looks()
    try prewarmer(survey, folder, looks).lookUpAll { true }
    #expect(looks.all == ["ContentInfo.plist", "Contents/a/1", "Contents/a/2", "Contents/large"])
    #expect(try folder.directory.entries().map(\.name) == ["Contents"])
  }

  @Test("A missing folder only affects the names in it")
  func noFolder() throws {
    let folder = try TemporaryFolder()
    let survey = try PackageSurvey(of: index(), name: "x.pkg", staging: nil, reusing: [])
    try folder.directory.createDirectory("Contents")
    let looks = Looks()
    try prewarmer(survey, folder, looks).lookUpAll { true }
    #expect(looks.all == ["ContentInfo.plist", "Contents/large"])
  }

  @Test("Files of an interrupted download are not looked up")
  func staged() throws {
    let folder = try TemporaryFolder()
    try folder.directory.createDirectory("Contents").createDirectory("a").createFile("1")
      .write([1])
    let survey = try PackageSurvey(
      of: index(), name: "x.pkg", staging: folder.directory, reusing: [])
    let looks = Looks()
    try prewarmer(survey, folder, looks).lookUpAll { true }
    #expect(looks.all == ["ContentInfo.plist", "Contents/a/2", "Contents/large"])
  }

  @Test("The lookups end when they are not wanted any more")
  func end() throws {
    let folder = try TemporaryFolder()
    let survey = try PackageSurvey(of: index(), name: "x.pkg", staging: nil, reusing: [])
    let looks = Looks()
    var left = 1
    try prewarmer(survey, folder, looks).lookUpAll {
      left -= 1
      return left >= 0
    }
    #expect(looks.all == ["ContentInfo.plist"])
  }

  @Test("A large assembly looks up names while its members arrive", .timeLimit(.hang))
  func assembly() throws {
    let folder = try TemporaryFolder()
    let index = try index(large: 1 + WritebackThread.stretch >> 20)
    let survey = try PackageSurvey(of: index, name: "x.pkg", staging: nil, reusing: [])
    #expect(survey.bytesToWrite >= WritebackThread.stretch)
    let looks = Looks()
    let assembly = try PackageAssembly(
      survey, name: "x.pkg", expected: expectedPackage(entries: index.files),
      in: looks.folder(at: folder.path, end: "/large"), workers: 2, writeback: {},
      progress: { _ in })
    looks.last.wait()
    withExtendedLifetime(assembly) {}
  }
}
