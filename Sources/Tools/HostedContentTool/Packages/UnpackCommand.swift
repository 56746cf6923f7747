import HostedModel
import HostedPackage
import HostedFileIO

enum UnpackCommand {
  static let command = Command(
    name: "unpack", summary: "Unpacks a package safely into a new folder.",
    operands: "FILE.pkg",
    options: [
      .init("--into", "FOLDER", "the folder to create; it must not exist", isRequired: true),
      .init("--any-archive", nil, "accept any readable archive: safety rules, no content rules"),
    ],
    example: "hostedcontent unpack chapter1.pkg --into chapter1"
  ) { arguments, console in
    let path = arguments.operands[0]
    let target = try FilePlace(arguments.required("--into"))
    let parent = try target.folder()
    guard try parent.status(of: target.name) == nil else {
      throw ContentError(
        .fileExists, "\(target.path) already exists", remedy: "Use a folder that does not exist",
        subject: target.path)
    }
    let source = try FileByteSource(FileSystem.real.file(at: path))
    let checkpoint = console.signals?.checkpoint()
    let files = try unpack(
      source, name: path, as: target.name, in: parent, isContent: !arguments.has("--any-archive")
    ) { _ in try checkpoint?() }
    console.print("\(target.path): \(files.filter { $0.entry.kind == .file }.count) files")
    return .done
  }
}
