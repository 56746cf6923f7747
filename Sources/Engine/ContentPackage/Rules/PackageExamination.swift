package import ContentModel

/// What was found in a package by reading all of it.
package struct PackageExamination: Sendable {
  /// How it is written.
  package let form: PackageForm
  /// What ContentInfo.plist says; nil when it is missing or not well-formed.
  package let info: ContentInfo?
  /// Every entry that keeps the rules, by path in byte order, files with their SHA-256.
  ///
  /// Folders that are only implied by a path are among them.
  package let entries: [IndexedFile]
  /// Every broken rule, in the order of the archive; empty for a good package.
  package let findings: [Finding]
  /// Bytes of the package.
  package let packedLength: Int64

  /// Whether it can be published and installed.
  package var isValid: Bool { findings.isEmpty }

  /// Bytes of all files once installed.
  package var installedSize: Int64 { entries.reduce(0) { $0 + $1.size } }
}

/// Reads a package and reports every broken rule at once.
///
/// `name` is what messages call the package. An archive that breaks off or exceeds a limit is a
/// finding too, after which nothing more is read; a xar that is damaged at its beginning counts as
/// `xar`. Throws `formUnknown` when the bytes are no package of a form that is read, and what
/// `source` throws.
package func examinePackage(
  _ source: any ByteSource, name: String, limits: PackageLimits = .standard
) throws -> PackageExamination {
  let examiner = Examiner()
  do {
    var walk = try PackageWalk(source, limits: limits, isContent: true, visitor: examiner)
    let form = walk.form
    do {
      try walk.run()
      try examiner.finish()
    } catch let refusal as Refusal {
      examiner.findings.append(refusal.wordedFinding)
    }
    return PackageExamination(
      form: form, info: examiner.collector.info,
      entries: examiner.collector.entries.sorted(by: IndexedFile.isOrdered),
      findings: examiner.findings, packedLength: source.length)
  } catch let refusal as Refusal {
    // Damaged at its very beginning, it is still a package when its container is one.
    guard refusal.finding.code != .formUnknown, let container = try? Container(source) else {
      throw refusal.error(in: name)
    }
    return PackageExamination(
      form: container.form, info: nil, entries: [], findings: [refusal.wordedFinding],
      packedLength: source.length)
  }
}

/// Collects everything, and stops only at an absurd number of findings.
private final class Examiner: EntryVisitor {
  private static let findingLimit = 1000

  var collector = EntryCollector(isContent: true)
  var findings: [Finding] = []

  func refuse(_ finding: Finding) throws {
    guard findings.count < Self.findingLimit else {
      throw Refusal.limit(
        "limit-findings", "There are more than \(Self.findingLimit) findings; the rest was not read"
      )
    }
    findings.append(finding)
  }

  func begin(_ entry: CheckedEntry) { collector.begin(entry) }

  func add(_ bytes: UnsafeRawBufferPointer) throws { try collector.add(bytes) }

  func end(_ entry: CheckedEntry) throws {
    do {
      _ = try collector.end(entry)
    } catch let error as ContentError where error.code == .contentInfoInvalid {
      try refuse(Finding(contentInfo: error))
    }
  }

  func finish() throws {
    if !collector.entries.contains(where: { $0.path == ContentInfo.fileName }) {
      try refuse(.contentInfoMissing)
    }
  }
}

extension Finding {
  /// A bad ContentInfo.plist.
  init(contentInfo error: ContentError) {
    self.init(
      path: ContentInfo.fileName, rule: "content-info",
      message: error.errorDescription ?? error.message,
      remedy: error.remedy, code: .contentInfoInvalid)
  }

  /// No ContentInfo.plist.
  static var contentInfoMissing: Finding {
    Finding(
      path: nil, rule: "content-info-missing", message: "There is no ContentInfo.plist",
      remedy: "Put ContentInfo.plist beside the folder Contents", code: .contentInfoInvalid)
  }
}

/// What is wrong with `name` as a published package's file name; nil when nothing is.
package func packageNameFinding(_ name: String) -> Finding? {
  name.utf8.count > 4 && name.lowercased().hasSuffix(".pkg")
    ? nil
    : Finding(
      path: nil, rule: "package-extension", message: "“\(name)” does not end in .pkg",
      remedy: "Rename the package so that it ends in .pkg", code: .formUnknown)
}
