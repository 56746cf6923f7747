package import HostedModel

/// The result of reading all of a package.
package struct PackageExamination: Sendable {
  package let format: PackageFormat
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
/// Throws `formatUnknown`, with a message that uses `name` for the package, if its format is not
/// supported, and the errors of `source`.
package func examinePackage(
  _ source: any ByteSource, name: String, limits: PackageLimits = .standard
) throws -> PackageExamination {
  do {
    return try examinePackage(source, limits: limits)
  } catch let finding as Finding {
    throw finding.error(in: name)
  }
}

/// Reads a package and returns all broken rules.
///
/// A truncated archive or an exceeded limit is also a finding, and ends the examination. The format
/// of a xar that is damaged at its start is `xar`. Throws the finding if the format is not
/// supported, and the errors of `source`.
package func examinePackage(
  _ source: any ByteSource, limits: PackageLimits = .standard
) throws -> PackageExamination {
  try examinePackage(source, limits: limits, members: nil)
}

/// Reads a package once, and returns all broken rules and, if there are none, its index.
///
/// `blocks` are the digests of its blocks of `PackageIndex.standardBlockLength` bytes, for a
/// package that has no members. Everything else is as in `examinePackage`.
package func examineAndIndexPackage(
  _ source: any ByteSource, blocks: [Digest], limits: PackageLimits = .standard
) throws -> (examination: PackageExamination, index: PackageIndex?) {
  let members = MemberScan()
  let examination = try examinePackage(source, limits: limits, members: members)
  guard examination.isValid else { return (examination, nil) }
  let entries = examination.entries
  let index = try PackageIndex(
    of: source, entries: entries, payload: { try members.layout(of: entries) }, blocks: { blocks })
  return (examination, index)
}

private func examinePackage(
  _ source: any ByteSource, limits: PackageLimits, members: MemberScan?
) throws -> PackageExamination {
  do {
    let walk = try PackageWalk(
      source, limits: limits, isContent: true, readsInfo: true, members: members)
    var findings: [Finding] = []
    do {
      try walk.run { finding in
        guard findings.count < findingLimit else {
          throw Finding.limit(
            "limit-findings",
            "The package has more than \(findingLimit) findings; the rest was not read")
        }
        findings.append(finding.withoutCause)
      }
    } catch let finding as Finding {
      findings.append(finding.withoutCause)
    }
    return PackageExamination(
      format: walk.format, info: walk.info, entries: walk.entries, findings: findings,
      packedLength: source.length)
  } catch let finding as Finding {
    // If the container is known, a package that is damaged at its start is still a package.
    guard finding.code != .formatUnknown, let container = try? Container(source) else {
      throw finding
    }
    return PackageExamination(
      format: container.format, info: nil, entries: [], findings: [finding.withoutCause],
      packedLength: source.length)
  }
}

private let findingLimit = 1000

/// Returns a finding if `name` is invalid as the file name of a published package.
package func packageNameFinding(_ name: String) -> Finding? {
  name.utf8.count > 4 && name.lowercased().hasSuffix(".pkg")
    ? nil
    : Finding(
      path: nil, rule: "package-extension", message: "“\(name)” does not end in .pkg",
      remedy: "Rename the package so that it ends in .pkg", code: .formatUnknown)
}
