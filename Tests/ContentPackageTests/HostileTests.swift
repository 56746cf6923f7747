import ContentModel
import ContentPackage
import FileIO
import TestSupport
import TestTraits
import Testing

/// What is left of a refused archive, and why it was refused.
struct HostileOutcome {
  /// Nil when it was unpacked.
  let error: ContentError?
  /// What the folder holds in which the target would have appeared.
  let left: [String]
  /// What lies beside that folder, where an escape would lead.
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

/// Fails the test unless the archive is refused with one of `codes`, and nothing is left of it.
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

@Suite("Hostile archives, every attack in every format that can express it", .long)
struct HostileTests {
  /// Formats that cannot say a thing, by the attack's name.
  private static let inexpressible: [String: Set<HostileForm>] = [
    // The writers of cpio end a name at its length, and a zip's hard links are files.
    "a hard link to nothing": [.odc, .newc, .pbzx, .zip],
    "a hard link out": [.odc, .newc, .pbzx, .zip, .xar],
    "a hard link to an absolute path": [.odc, .newc, .pbzx, .zip, .xar],
    "a hard link to a link": [.odc, .newc, .pbzx, .zip, .xar],
    "a hard link to a folder": [.odc, .newc, .pbzx, .zip, .xar],
    // A link without a target is none in these headers, and names of only these bytes are no XML.
    "a path that is no UTF-8": [.xar],
    "an overlong UTF-8 dot": [.xar],
  ]

  @Test("Refused, and nothing is left", arguments: RuleTests.cases, HostileForm.allCases)
  func attack(_ attack: RuleTests.Case, _ form: HostileForm) throws {
    if Self.inexpressible[attack.testDescription]?.contains(form) == true { return }
    let bytes = form.archive([.info()] + attack.entries())
    // What a format's own parser dislikes is damaged before it is refused.
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
    "A length that says more or less than there is, is refused", arguments: HostileForm.allCases,
    [0, 3, 5000, 1 << 30])
  func lyingLength(_ form: HostileForm, _ length: Int) throws {
    // Tar and newc are padded and a xar's bytes need not follow each other: less is no lie there.
    if [.ustar, .pax, .gnu, .newc, .xar].contains(form), length == 3 { return }
    if form == .xar, length == 0 { return }
    var lying = RawEntry.file("Contents/a", "four")
    lying.size = length
    // What follows then makes no sense, or there is too little of it.
    try expectRefused(
      form.archive([.info(), lying, .file("Contents/b", "other")]),
      [.archiveDamaged, .limitExceeded, .entryRefused])
  }

  @Test("Cut anywhere, nothing is left", arguments: HostileForm.allCases)
  func cut(_ form: HostileForm) throws {
    let bytes = form.archive([.info(), .file("Contents/a", "The fog horn sounded twice.")])
    let end = bytes.lastIndex { $0 != 0 } ?? 0
    for length in stride(from: 0, through: end, by: SlowTests.stride(quick: 31)) {
      let outcome = try HostileOutcome(Array(bytes[..<length]))
      #expect(outcome.error?.group == .package, "cut after \(length) bytes")
      #expect(outcome.left.isEmpty && outcome.outside == ["inside"])
    }
  }

  @Test(
    "With any byte changed, it is refused or unpacked into its target",
    arguments: HostileForm.allCases)
  func damaged(_ form: HostileForm) throws {
    let bytes = form.archive([.info(), .file("Contents/a", "The fog horn sounded twice.")])
    for position in stride(from: 0, to: bytes.count, by: SlowTests.stride(quick: 31)) {
      var changed = bytes
      changed[position] ^= 0x41
      let outcome = try HostileOutcome(changed)
      #expect(outcome.error == nil || outcome.error?.group == .package)
      #expect(outcome.outside == ["inside"])
      #expect(outcome.left.isEmpty == (outcome.error != nil), "changed at \(position)")
    }
  }

  @Test(
    "Several archives in one, or bytes behind its end, are refused", arguments: HostileForm.allCases
  )
  func behindTheEnd(_ form: HostileForm) throws {
    let one = form.archive([.info(), .file("Contents/a")])
    let evil = form.archive([.file("../evil")])
    // Nothing reads what lies behind a xar's last file, which a notary's ticket may be.
    guard ![.xar, .odc, .newc, .pbzx].contains(form) else {
      #expect(try HostileOutcome(one + evil).left == HostileOutcome(one).left)
      return
    }
    try expectRefused(one + evil, [.archiveDamaged, .entryRefused])
    try expectRefused(one + Array("more".utf8), [.archiveDamaged])
  }

  @Test("Bytes behind the end of a payload are refused")
  func behindThePayload() throws {
    let one = cpio([.info(), .file("Contents/a")])
    let evil = cpio([.file("../evil")])
    for payload in [one + evil, one + [1], cpioNewc([.info()]) + evil] {
      try expectRefused(product(payload), [.archiveDamaged])
    }
    #expect(try HostileOutcome(product(one + [0, 0, 0])).error == nil)
  }

  @Test("An archive inside an archive is a file, and stays one", arguments: HostileForm.allCases)
  func nested(_ form: HostileForm) throws {
    // A bomb of a gigabyte would be harmless for the same reason.
    let inner = form.archive([.info(), .file("../evil")])
    let entry = RawEntry(path: Array("Contents/inner".utf8), data: inner)
    #expect(
      try HostileOutcome(form.archive([.info(), entry])).left == [
        "target", "target/ContentInfo.plist", "target/Contents", "target/Contents/inner",
      ])
  }

  @Test("More entries, depth, bytes or length than allowed", arguments: HostileForm.allCases)
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
