import HostedModel
import HostedDigests
import HostedPackage
import HostedFileIO
import HostedTestSupport
import Testing

@Suite("Sample packages")
struct SampleTests {
  /// The folder SamplePackages of this repository.
  static let folder = SourceTree.path("SamplePackages")

  /// A valid sample with its path and its ContentInfo.plist.
  struct Good: Sendable {
    let path: String
    let product: String
    let version: String
    let format: PackageFormat
    let content: String

    init(
      _ path: String, _ product: String, _ version: String, _ format: PackageFormat,
      content: String? = nil
    ) {
      self.content = content ?? product
      self.path = path
      self.product = product
      self.version = version
      self.format = format
    }
  }

  static let good =
    ["chapter1", "chapter2"].flatMap { chapter in
      ["1.0", "1.1", "1.10"].map { version in
        Good(
          "\(chapter)-\(version).pkg", "com.example.book.\(chapter)", version, .flatProductArchive)
      }
    }
    + ["tar", "tar-gz", "tar-xz", "tar-zst", "tar-bz2"].map { name in
      Good("formats/\(name).pkg", "com.example.forms.\(name)", "1.0", .tar)
    } + [
      Good("formats/xar.pkg", "com.example.forms.xar", "1.0", .xar),
      Good("formats/zip.pkg", "com.example.forms.zip", "1.0", .zip),
      Good("course-1.0.pkg", "com.example.course", "1.0", .flatProductArchive),
      Good(
        "course-audio-1.0.pkg", "com.example.course", "1.0", .flatProductArchive,
        content: "com.example.course.audio"),
      Good(
        "course-audio-1.1.pkg", "com.example.course", "1.1", .flatProductArchive,
        content: "com.example.course.audio"),
      Good("many-files.pkg", "com.example.many-files", "1.0", .flatProductArchive),
    ]

  static let bad: [(path: String, code: ContentError.Code)] = [
    ("bad/wrong-version.pkg", .wrongVersion), ("bad/wrong-product.pkg", .wrongProduct),
    ("bad/damaged.pkg", .archiveDamaged), ("bad/truncated.pkg", .archiveDamaged),
    ("bad/escaping-path.pkg", .entryRefused), ("bad/absolute-path.pkg", .entryRefused),
    ("bad/escaping-link.pkg", .entryRefused), ("bad/link-chain.pkg", .entryRefused),
    ("bad/executable-inside.pkg", .executableContent),
    ("bad/missing-plist.pkg", .contentInfoInvalid), ("bad/bad-plist.pkg", .contentInfoInvalid),
    ("bad/bad-version.pkg", .contentInfoInvalid), ("bad/not-an-archive.pkg", .formatUnknown),
  ]

  private func source(_ path: String) throws -> FileByteSource {
    try FileByteSource(FileSystem.real.file(at: "\(Self.folder)/\(path)"))
  }

  @Test("Good samples are valid, and unpack as their index lists", arguments: good)
  func goodSamples(sample: Good) throws {
    let examination = try examinePackage(source(sample.path), name: sample.path)
    #expect(examination.findings == [])
    #expect(examination.format == sample.format)
    #expect(examination.info?.productIdentifier.rawValue == sample.product)
    #expect(examination.info?.contentIdentifier.rawValue == sample.content)
    #expect(examination.info?.version.rawValue == sample.version)
    #expect(packageNameFinding(sample.path) == nil)
    let target = try TemporaryFolder()
    let files = try unpackPackage(
      source(sample.path), name: sample.path, into: target.directory,
      expected: expectedPackage(
        sample.product, sample.version, content: sample.content, entries: examination.entries),
      progress: { _ in })
    #expect(files.map(\.entry) == examination.entries)
  }

  @Test("The index of one pass is that of a second pass", arguments: good)
  func indexInOnePass(sample: Good) throws {
    let source = try source(sample.path)
    var blocks: [Digest] = []
    _ = try source.digest { try blocks.append(Digest(of: $0)) }
    let (examination, index) = try examineAndIndexPackage(source, blocks: blocks)
    let expected = try PackageIndex(indexing: source, entries: examination.entries)
    #expect(index?.encoded == expected.encoded)
  }

  @Test("Bad samples are refused with the codes in the table", arguments: bad)
  func badSamples(sample: (path: String, code: ContentError.Code)) throws {
    let outside = try TemporaryFolder()
    let inside = try outside.directory.createDirectory("inside")
    // Samples of chapter 1 are compared with an expected package, the others are not.
    let isCompared = sample.path.contains("wrong-")
    let expected =
      isCompared ? try expectedPackage("com.example.book.chapter1", "1.0", entries: nil) : nil
    let thrown = code {
      _ = try unpackPackage(
        source(sample.path), name: sample.path, into: inside, expected: expected, progress: { _ in }
      )
    }
    #expect(thrown == sample.code)
    #expect(try outside.directory.entries().map(\.name) == ["inside"])
    if sample.code != .formatUnknown {
      let examination = try examinePackage(source(sample.path), name: sample.path)
      #expect(examination.isValid == isCompared)
    }
  }

  @Test("No sample is missing from these tests")
  func complete() throws {
    let tested = Set(Self.good.map(\.path) + Self.bad.map(\.path))
    var found: Set<String> = []
    for (part, prefix) in [("", ""), ("/formats", "formats/"), ("/bad", "bad/")] {
      let names = try FileSystem.real.directory(at: Self.folder + part).entries().map(\.name)
      found.formUnion(names.filter { $0.hasSuffix(".pkg") }.map { prefix + $0 })
    }
    #expect(found == tested)
  }

  @Test("The chapters unpack to their source folders")
  func sources() throws {
    for name in ["chapter1-1.0", "chapter1-1.10", "chapter2-1.1", "course-1.0", "course-audio-1.1"]
    {
      let target = try TemporaryFolder()
      _ = try unpackPackage(
        source("\(name).pkg"), name: name, into: target.directory, expected: nil,
        progress: { _ in })
      let sources = try FileSystem.real.directory(at: "\(Self.folder)/sources/\(name)/Contents")
      #expect(try tree(target.directory.directory("Contents")) == tree(sources))
    }
  }
}
