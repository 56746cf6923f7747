import ContentModel
import ContentTrust
import Digests
import FileIO

/// The folder of downloaded targets; a file in it was verified before it got its name.
struct TargetFolder {
  private let folder: Directory

  /// Longer targets are not held in memory.
  private static let maximumLength: Int64 = 1 << 30

  /// Opens the folder at `path`, which is made when it is not there.
  init(_ path: String) throws {
    folder = try FileSystem.real.directory(at: path, creating: true)
  }

  /// Makes sure that the target `name` is here as `file` promises it.
  ///
  /// A file that is right already is left alone, and nothing is fetched for it.
  func provide(_ name: String, _ file: TargetFile, consistent: Bool, from source: RepositoryFetcher)
    throws
  {
    let fileName = try Self.fileName(of: name)
    if try isRight(fileName, file) { return }
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
        remedy: "Its owner uploads what the metadata promises", subject: name)
    }
    try file.check(bytes, of: name)
    try folder.replaceFile(fileName, with: bytes)
  }

  private func isRight(_ fileName: String, _ file: TargetFile) throws -> Bool {
    guard let status = try folder.status(of: fileName), status.kind == .file,
      status.size == file.length
    else { return false }
    let bytes = try folder.contents(of: fileName, limit: file.length)
    return (try? file.check(bytes, of: fileName)) != nil
  }

  /// One file name for each target's name, whatever its content: percent-encoded, or its SHA-256
  /// where that would be too long.
  private static func fileName(of name: String) throws -> String {
    let encoded = PercentEncoding.component(name)
    let isUsable = encoded.utf8.count <= 240 && encoded != "." && encoded != ".."
    return isUsable ? encoded : try Digest(of: Array(name.utf8)).hex
  }
}
