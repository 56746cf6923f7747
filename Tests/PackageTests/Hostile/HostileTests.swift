import HostedModel
import HostedPackage
import HostedFileIO
import HostedTestSupport
import HostedTestTraits
import Testing

/// The result of unpacking a hostile archive.
struct HostileOutcome {
  /// Nil if it was unpacked.
  let error: ContentError?
  /// The content of the target's parent folder.
  let left: [String]
  /// The content of the folder above, where an escape would lead.
  let outside: [String]

  init(_ bytes: [UInt8], limits: PackageLimits = .standard) throws {
    let folder = try TemporaryFolder()
    let parent = try folder.directory.createDirectory("inside")
    var error: ContentError?
    do {
      _ = try unpack(
        MemorySource(bytes), name: "test.pkg", as: "target", in: parent, limits: limits)
    } catch let thrown as ContentError {
      error = thrown
    }
    self.error = error
    left = try tree(parent).keys.sorted()
    outside = try folder.directory.entries().map(\.name)
  }
}

/// Fails the test unless the archive is refused with one of `codes`, and nothing is left.
func expectRefused(
  _ bytes: [UInt8], _ codes: Set<ContentError.Code>, limits: PackageLimits = .standard,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let outcome = try HostileOutcome(bytes, limits: limits)
  let code = outcome.error?.code
  #expect(
    code.map(codes.contains) == true, "\(outcome.error?.description ?? "unpacked")",
    sourceLocation: sourceLocation)
  #expect(outcome.left.isEmpty, sourceLocation: sourceLocation)
  #expect(outcome.outside == ["inside"], sourceLocation: sourceLocation)
  #expect(
    (try? examine(bytes, limits: limits))?.isValid != true, sourceLocation: sourceLocation)
}

@Suite("Hostile archives in each format", .long)
struct HostileTests {
  /// The formats that cannot express an attack, by the name of the attack.
  private static let inexpressible: [String: Set<HostileForm>] = [
    // The cpio writers end a name at its length, and hard links in a zip are files.
    "a hard link to nothing": [.odc, .newc, .pbzx, .zip],
    "a hard link out": [.odc, .newc, .pbzx, .zip, .xar],
    "a hard link to an absolute path": [.odc, .newc, .pbzx, .zip, .xar],
    "a hard link to a link": [.odc, .newc, .pbzx, .zip, .xar],
    "a hard link to a folder": [.odc, .newc, .pbzx, .zip, .xar],
    // These headers do not express a link without a target. Such names are not valid XML.
    "a path that is not UTF-8": [.xar],
    "an overlong UTF-8 dot": [.xar],
  ]

  /// All formats; in the quick set, one for each parser.
  private static let forms: [HostileForm] =
    SlowTests.areOn ? HostileForm.allCases : [.ustar, .newc, .zip, .xar]

  @Test("Refused, and nothing is left", arguments: RuleTests.cases, forms)
  func attack(_ attack: RuleTests.Case, _ form: HostileForm) throws {
    if Self.inexpressible[attack.testDescription]?.contains(form) == true { return }
    let bytes = form.archive([.info()] + attack.entries())
    // A format's own parser may report damage first.
    try expectRefused(bytes, [attack.code, .archiveDamaged])
  }

  @Test("The same entries without an attack are unpacked", arguments: HostileForm.allCases)
  func harmless(_ form: HostileForm) throws {
    let entries: [RawEntry] = [
      .info(), .folder("Contents/d/"), .file("Contents/d/a", "alpha"), .link("Contents/l", "d/a"),
    ]
    let outcome = try HostileOutcome(form.archive(entries))
    #expect(outcome.error == nil)
    #expect(
      outcome.left == [
        "target", "target/ContentInfo.plist", "target/Contents", "target/Contents/d",
        "target/Contents/d/a", "target/Contents/l",
      ])
  }

  @Test("A socket is refused", arguments: [HostileForm.odc, .newc, .pbzx, .zip, .xar])
  func socket(_ form: HostileForm) throws {
    try expectRefused(
      form.archive([.info(), .special("Contents/s", type: "s")]), [.entryRefused])
  }

  @Test(
    "A wrong length of a file is refused", arguments: HostileForm.allCases,
    [0, 3, 5000, 1 << 30])
  func lyingLength(_ form: HostileForm, _ length: Int) throws {
    // Tar and newc are padded, and a xar may have gaps, so a shorter length is valid there.
    if [.ustar, .pax, .gnu, .newc, .xar].contains(form), length == 3 { return }
    if form == .xar, length == 0 { return }
    var lying = RawEntry.file("Contents/a", "four")
    lying.size = length
    // The following bytes are then invalid or missing.
    try expectRefused(
      form.archive([.info(), lying, .file("Contents/b", "other")]),
      [.archiveDamaged, .limitExceeded, .entryRefused])
  }

  @Test("An archive that is truncated anywhere leaves nothing", arguments: HostileForm.allCases)
  func cut(_ form: HostileForm) throws {
    let bytes = form.archive([.info(), .file("Contents/a", "The fog horn sounded twice.")])
    let end = bytes.lastIndex { $0 != 0 } ?? 0
    for length in stride(from: 0, through: end, by: SlowTests.areOn ? 1 : 97) {
      let outcome = try HostileOutcome(Array(bytes[..<length]))
      #expect(outcome.error?.group == .package, "cut after \(length) bytes")
      #expect(outcome.left.isEmpty && outcome.outside == ["inside"])
    }
  }

  @Test(
    "If any byte is changed, the archive is refused or unpacked into its target", .slow,
    arguments: HostileForm.allCases)
  func damaged(_ form: HostileForm) throws {
    let bytes = form.archive([.info(), .file("Contents/a", "The fog horn sounded twice.")])
    for position in bytes.indices {
      var changed = bytes
      changed[position] ^= 0x41
      let outcome = try HostileOutcome(changed)
      #expect(outcome.error == nil || outcome.error?.group == .package)
      #expect(outcome.outside == ["inside"])
      #expect(outcome.left.isEmpty == (outcome.error != nil), "changed at \(position)")
    }
  }

  @Test(
    "Concatenated archives and extra bytes after the end are refused",
    arguments: HostileForm.allCases
  )
  func behindTheEnd(_ form: HostileForm) throws {
    let one = form.archive([.info(), .file("Contents/a")])
    let evil = form.archive([.file("../evil")])
    // Bytes after the last file of a xar are ignored. They may be a notarization ticket.
    guard ![.xar, .odc, .newc, .pbzx].contains(form) else {
      #expect(try HostileOutcome(one + evil).left == HostileOutcome(one).left)
      return
    }
    try expectRefused(one + evil, [.archiveDamaged, .entryRefused])
    try expectRefused(one + Array("more".utf8), [.archiveDamaged])
  }

  @Test("Extra bytes after the end of a payload are refused")
  func behindThePayload() throws {
    let one = cpio([.info(), .file("Contents/a")])
    let evil = cpio([.file("../evil")])
    for payload in [one + evil, one + [1], cpioNewc([.info()]) + evil] {
      try expectRefused(product(payload), [.archiveDamaged])
    }
    #expect(try HostileOutcome(product(one + [0, 0, 0])).error == nil)
  }

  @Test("An archive inside an archive stays a file", arguments: HostileForm.allCases)
  func nested(_ form: HostileForm) throws {
    // A decompression bomb would be harmless for the same reason.
    let inner = form.archive([.info(), .file("../evil")])
    let entry = RawEntry(path: Array("Contents/inner".utf8), data: inner)
    #expect(
      try HostileOutcome(form.archive([.info(), entry])).left == [
        "target", "target/ContentInfo.plist", "target/Contents", "target/Contents/inner",
      ])
  }

  @Test(
    "An archive that exceeds a limit of entries, depth, size or length is refused",
    arguments: HostileForm.allCases)
  func limits(_ form: HostileForm) throws {
    var limits = PackageLimits.standard
    limits.entryCount = 5
    limits.depth = 4
    limits.totalSize = 600
    let many = (0..<6).map { RawEntry.file("Contents/\($0)") }
    let deep: [RawEntry] = [.file("Contents/1/2/3/4")]
    let large: [RawEntry] = [.file("Contents/a", String(repeating: "x", count: 600))]
    for entries in [many, deep, large] {
      try expectRefused(form.archive([.info()] + entries), [.limitExceeded], limits: limits)
    }
    limits = .standard
    limits.packageLength = 100
    try expectRefused(form.archive([.info()]), [.limitExceeded], limits: limits)
  }
}
