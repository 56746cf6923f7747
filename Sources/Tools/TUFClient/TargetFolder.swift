import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO

/// The folder of downloaded targets; a file gets its final name after it was verified.
struct TargetFolder {
  private let folder: Directory

  /// The maximum length, because targets are held in memory.
  private static let maximumLength: Int64 = 1 << 30

  init(_ path: String) throws { folder = try FileSystem.real.directory(at: path, creating: true) }

  /// Fetches the target `name` unless the folder has it as `file` describes it.
  func provide(_ name: String, _ file: TargetFile, consistent: Bool, from source: RepositoryFetcher)
    throws
  {
    let fileName = try Self.fileName(of: name)
    if try isValid(fileName, file) { return }
    guard file.length <= Self.maximumLength else {
      throw ContentError(
        .limitExceeded, "\(name) has \(file.length) bytes, more than \(Self.maximumLength)",
        remedy: "Fetch it with hostedcontent, which streams", subject: name)
    }
    let paths = TrustedTargets.paths(of: name, file, consistent: consistent)
    var found: [UInt8]?
    for path in paths where found == nil {
      found = try source.fetchTarget(path, limit: file.length)
    }
    guard let bytes = found else {
      throw ContentError(
        .storeMissing, "The repository has no file \(paths.first ?? name)",
        remedy: "Ask its owner to upload all files that the metadata lists", subject: name)
    }
    try file.check(bytes, of: name)
    try folder.replaceFile(fileName, with: bytes)
  }

  private func isValid(_ fileName: String, _ file: TargetFile) throws -> Bool {
    guard let status = try folder.status(of: fileName), status.kind == .file,
      status.size == file.length
    else { return false }
    let bytes = try folder.contents(of: fileName, limit: file.length)
    return (try? file.check(bytes, of: fileName)) != nil
  }

  /// Returns a unique file name for a target's name: percent-encoded, or its SHA-256 if that is too
  /// long.
  private static func fileName(of name: String) throws -> String {
    let encoded = PercentEncoding.component(name)
    let isUsable = encoded.utf8.count <= 240 && encoded != "." && encoded != ".."
    return isUsable ? encoded : try Digest(of: Array(name.utf8)).hex
  }
}
