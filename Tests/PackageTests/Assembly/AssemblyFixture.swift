import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import Testing

/// A content that is built, indexed and assembled without a store or a network.
struct BuiltContent {
  let bytes: [UInt8]
  let index: PackageIndex

  init(_ files: [String: [UInt8]], workers: Int? = nil) throws {
    let folder = try TemporaryFolder()
    let output = try TemporaryFolder()
    try writeBytes(files, to: folder.directory)
    let examination = try buildPackage(
      folder: folder.directory, output: output.directory, outputName: "out.pkg",
      productIdentifier: ProductIdentifier("com.example.test"), version: ContentVersion("1.0"),
      workers: workers)
    bytes = try output.directory.contents(of: "out.pkg", limit: 64 << 20)
    index = try PackageIndex(indexing: MemorySource(bytes), entries: examination.entries)
  }

  private static let ofLibrary = Result { try BuiltContent(HostedPackageTests.library()) }

  /// The library, built once for all tests.
  static var library: BuiltContent { get throws { try ofLibrary.get() } }

  func survey(_ folder: Directory?, reusing trees: [ReusableTree] = []) throws -> PackageSurvey {
    try PackageSurvey(of: index, name: "out.pkg", staging: folder, reusing: trees)
  }

  /// Assembles the content in `folder`, but only fetches the first `limit` missing members.
  @discardableResult
  func assemble(
    in folder: Directory, reusing trees: [ReusableTree] = [], limit: Int = .max,
    index other: PackageIndex? = nil, comparingDigests: Bool = true
  ) throws -> (files: [InstalledFile], fetched: Int64) {
    let index = other ?? index
    let survey = try PackageSurvey(of: index, name: "out.pkg", staging: folder, reusing: trees)
    return try finish(
      survey, in: folder, limit: limit, entries: index.files, comparingDigests: comparingDigests)
  }

  /// Creates in `folder` what `survey` has found missing, except for members after `limit`.
  @discardableResult
  func finish(
    _ survey: PackageSurvey, in folder: Directory, limit: Int = .max,
    entries: [IndexedFile]? = nil, comparingDigests: Bool = true
  ) throws -> (files: [InstalledFile], fetched: Int64) {
    let assembly = try PackageAssembly(
      survey, name: "out.pkg", expected: expectedPackage(entries: entries ?? index.files),
      in: folder, comparingDigests: comparingDigests, progress: { _ in })
    for member in survey.missing.prefix(limit) {
      let start = Int(member.offset)
      let lent = LentBytes(copyOf: bytes[start..<(start + member.length)])
      try assembly.take(lent, at: member.offset)
    }
    guard limit >= survey.missing.count else { return ([], 0) }
    return (try assembly.finish(), survey.missingBytes)
  }

  /// Returns the index with files that `change` has modified.
  func index(changing change: (inout [IndexedFile]) -> Void) throws -> PackageIndex {
    var files = index.files
    change(&files)
    let payload = try #require(index.payload)
    return PackageIndex(packageLength: index.packageLength, payload: payload, files: files)
  }
}

/// Writes files below `directory`.
func writeBytes(_ files: [String: [UInt8]], to directory: Directory) throws {
  for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
    var folder = directory
    let parts = path.pathComponents()
    for part in parts.dropLast() { folder = try folder.createDirectory(part) }
    try folder.createFile(parts.last ?? "").write(bytes)
  }
}

/// Returns incompressible bytes, which are the same for the same seed.
func noise(_ count: Int, seed: UInt64) -> [UInt8] {
  var random = SplitMix(state: seed)
  return random.bytes(count)
}

/// Two large files, some texts and an empty file.
///
/// The films depend on the seed.
func library(_ seed: UInt64 = 1) -> [String: [UInt8]] {
  seed == 1 ? firstLibrary : makeLibrary(seed)
}

private let firstLibrary = makeLibrary(1)

private func makeLibrary(_ seed: UInt64) -> [String: [UInt8]] {
  var files: [String: [UInt8]] = [
    "Contents/film.bin": noise(1_500_000, seed: seed),
    "Contents/book.txt": Array(
      String(repeating: "The fog came on little feet. ", count: 20_000).utf8),
    "Contents/empty": [],
  ]
  for number in 0..<40 {
    files["Contents/pages/page-\(number).txt"] = Array(
      String(repeating: "Page \(number) of the log. ", count: 300).utf8)
  }
  return files
}
