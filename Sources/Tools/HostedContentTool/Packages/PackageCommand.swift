import HostedModel
import HostedPackage
import HostedFileIO

enum PackageCommand {
  static let command = Command(
    name: "package", summary: "Builds a content package from a folder with Contents.",
    operands: "[FOLDER]",
    options: [
      .init(
        "--from", "ARCHIVE", "convert a package, xar, zip or tar built elsewhere, not a folder"),
      .init("--output", "FILE.pkg", "the package to write", isRequired: true),
      .init("--product", "ID", "the product; default: from ContentInfo.plist"),
      .init(
        "--content", "ID", "the content, if the product has several; default: the product's"),
      .init("--content-version", "V", "the version; default: from ContentInfo.plist"),
    ],
    example: "hostedcontent package chapter1 --output chapter1.pkg --product com.example.chapter1 "
      + "--content-version 1.0\nhostedcontent package --from chapter1.zip --output chapter1.pkg"
  ) { arguments, console in
    let text = try arguments.required("--output")
    let output = try FilePlace(text)
    guard !text.hasSuffix("/") else {
      throw arguments.wrong("--output \(text) is a folder, expected the path of the package")
    }
    let examination = try build(arguments, console, to: output)
    let files = examination.entries.filter { $0.kind == .file }
    let productName = examination.info?.productIdentifier.rawValue ?? "?"
    let contentName = examination.info?.contentIdentifier.rawValue ?? productName
    console.print(
      "\(output.path): \(productName) "
        + (contentName == productName ? "" : "(content \(contentName)) ")
        + "\(examination.info?.version.rawValue ?? "?"), \(files.count) files, "
        + "\(Console.bytes(examination.packedLength))")
    if !output.name.hasSuffix(".pkg") {
      console.note("A store only accepts packages whose names end in .pkg")
    }
    return .done
  }

  private static func build(_ arguments: Arguments, _ console: Console, to output: FilePlace)
    throws -> PackageExamination
  {
    let product = try arguments.identifier(of: "--product")
    let content = try arguments.identifier(of: "--content")
    let version = try arguments.text("--content-version").map { try arguments.version($0) }
    let archive = try arguments.text("--from")
    guard arguments.operands.count + (archive == nil ? 0 : 1) == 1 else {
      throw arguments.wrong("package takes either FOLDER or --from ARCHIVE")
    }
    // After a signal, the command fails and removes what it has written.
    let fileSystem = console.stoppableFileSystem()
    let folder = try output.folder(fileSystem)
    guard let archive else {
      return try buildPackage(
        folder: fileSystem.directory(at: arguments.operands[0]), output: folder,
        outputName: output.name, productIdentifier: product, contentIdentifier: content,
        version: version)
    }
    return try convertPackage(
      FileByteSource(fileSystem.file(at: archive)), name: archive, output: folder,
      outputName: output.name, productIdentifier: product, contentIdentifier: content,
      version: version)
  }
}

struct FilePlace {
  let path: String

  /// Removes slashes at the end; throws `usage` for a path without a last name, such as `..`.
  init(_ path: String) throws {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    self.path = String(trimmed)
    guard !["", "/", ".", ".."].contains(name) else {
      throw ContentError(
        .usage, "“\(path)” does not end with a name",
        remedy: "Use a path that ends with the name of the file or folder", subject: path)
    }
  }

  var name: String { path.pathComponents().last ?? path }

  func folder(_ fileSystem: FileSystem = .real) throws -> Directory {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      return try fileSystem.directory(at: ".")
    }
    return try fileSystem.directory(at: String(path[...slash]))
  }
}
