package import ContentModel

/// The result of reading all of a package.
package struct PackageExamination: Sendable {
  package let form: PackageForm
  /// The values of ContentInfo.plist, or nil if it is missing or invalid.
  package let info: ContentInfo?
  /// All entries that keep the rules, sorted by the bytes of their paths.
  ///
  /// Files have a SHA-256. Implied folders are included.
  package let entries: [IndexedFile]
  /// All broken rules, in the order of the archive; empty for a valid package.
  package let findings: [Finding]
  /// The length of the package in bytes.
  package let packedLength: Int64

  /// Whether the package can be published and installed.
  package var isValid: Bool { findings.isEmpty }

  /// The total size of all installed files in bytes.
  package var installedSize: Int64 { entries.reduce(0) { $0 + $1.size } }
}

/// Reads a package and returns all broken rules.
///
/// Messages use `name` for the package. A truncated archive or an exceeded limit is also a finding,
/// and ends the examination. The form of a xar that is damaged at its start is `xar`. Throws
/// `formUnknown` if the form is not supported, and the errors of `source`.
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
    // If the container is known, a package that is damaged at its start is still a package.
    guard refusal.finding.code != .formUnknown, let container = try? Container(source) else {
      throw refusal.error(in: name)
    }
    return PackageExamination(
      form: container.form, info: nil, entries: [], findings: [refusal.wordedFinding],
      packedLength: source.length)
  }
}

/// Collects all findings, up to a limit.
private final class Examiner: EntryVisitor {
  private static let findingLimit = 1000

  var collector = EntryCollector(isContent: true)
  var findings: [Finding] = []

  func refuse(_ finding: Finding) throws {
    guard findings.count < Self.findingLimit else {
      throw Refusal.limit(
        "limit-findings",
        "The package has more than \(Self.findingLimit) findings; the rest was not read"
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
  /// Creates the finding for an invalid ContentInfo.plist.
  init(contentInfo error: ContentError) {
    self.init(
      path: ContentInfo.fileName, rule: "content-info",
      message: error.errorDescription ?? error.message,
      remedy: error.remedy, code: .contentInfoInvalid)
  }

  /// The finding for a missing ContentInfo.plist.
  static var contentInfoMissing: Finding {
    Finding(
      path: nil, rule: "content-info-missing", message: "ContentInfo.plist not found",
      remedy: "Add ContentInfo.plist next to the folder Contents", code: .contentInfoInvalid)
  }
}

/// Returns a finding if `name` is invalid as the file name of a published package.
package func packageNameFinding(_ name: String) -> Finding? {
  name.utf8.count > 4 && name.lowercased().hasSuffix(".pkg")
    ? nil
    : Finding(
      path: nil, rule: "package-extension", message: "“\(name)” does not end in .pkg",
      remedy: "Rename the package so that it ends in .pkg", code: .formUnknown)
}
