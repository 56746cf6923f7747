import ContentModel
import ContentPackage
import FileIO
import Glibc

/// `unpack`: the safe unpacker on a local file.
enum UnpackCommand {
  static let command = Command(
    name: "unpack", summary: "Unpacks a package safely into a new folder.",
    operands: "FILE.pkg", operandCount: 1...1,
    options: [
      .init("--into", "FOLDER", "the folder to make; it must not exist"),
      .init("--any-archive", nil, "any archive of a readable form: safety rules, no content rules"),
    ],
    example: "hostedcontent unpack chapter1.pkg --into chapter1", run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let path = arguments.operands[0]
    let target = try FilePlace(new: arguments.required("--into"))
    let parent = try target.folder()
    guard try parent.status(of: target.name) == nil else {
      throw ContentError(
        .fileFailed, "\(target.path) exists already", remedy: "Name a folder that does not exist",
        subject: target.path)
    }
    // The folder appears under its name only when all is well; until then its name is this
    // process's own, since somebody else may unpack beside it.
    let temporary = ".\(target.name.utf8.count < 200 ? target.name : "").unpacking-\(getpid())"
    let source = try FilePlace(path).byteSource()
    let signals = StopSignals()
    do {
      let folder = try parent.createDirectory(temporary, exclusive: true)
      let unpack = arguments.has("--any-archive") ? unpackArchive : unpackContent
      let files = try unpack(source, path, folder) { _ in
        if signals.hasCome { throw StopSignals.interrupted }
      }
      try parent.renameWithoutReplacing(temporary, to: parent, target.name)
      console.print("\(target.path): \(files.filter { $0.entry.kind == .file }.count) files")
      return .done
    } catch {
      try? parent.removeTree(temporary)
      throw error
    }
  }

  private static func unpackContent(
    _ source: FileByteSource, _ name: String, _ folder: Directory,
    _ progress: (Int64) throws -> Void
  ) throws -> [InstalledFile] {
    try unpackPackage(source, name: name, into: folder, promise: nil, progress: progress)
  }

  private static func unpackArchive(
    _ source: FileByteSource, _ name: String, _ folder: Directory,
    _ progress: (Int64) throws -> Void
  ) throws -> [InstalledFile] {
    try ContentPackage.unpackArchive(source, name: name, into: folder, progress: progress)
  }
}
