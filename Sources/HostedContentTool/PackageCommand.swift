import ContentModel
import ContentPackage
import FileIO

/// `package`: a folder, or an archive built elsewhere, becomes a content package.
enum PackageCommand {
  static let command = Command(
    name: "package", summary: "Builds a content package from a folder with Contents.",
    operands: "[FOLDER]", operandCount: 0...1,
    options: [
      .init(
        "--from", "ARCHIVE", "convert a package, xar, zip or tar built elsewhere, not a folder"),
      .init("--output", "FILE.pkg", "the package to write"),
      .init("--product", "ID", "the product; default: what ContentInfo.plist says"),
      .init(
        "--content", "ID", "the content, of a product that has several; default: the product's"),
      .init("--content-version", "V", "the version; default: what ContentInfo.plist says"),
    ],
    example: "hostedcontent package chapter1 --output chapter1.pkg --product com.example.chapter1 "
      + "--content-version 1.0\nhostedcontent package --from chapter1.zip --output chapter1.pkg",
    run: run)

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let text = try arguments.required("--output")
    let output = try FilePlace(new: text)
    guard !text.hasSuffix("/") else {
      throw Arguments.wrong("--output \(text) is a folder; it must name the package", "package")
    }
    let examination = try build(arguments, to: output)
    let files = examination.entries.filter { $0.kind == .file }
    let product = examination.info?.productIdentifier.rawValue ?? "?"
    let content = examination.info?.contentIdentifier.rawValue ?? product
    console.print(
      "\(output.path): \(product) \(content == product ? "" : "(content \(content)) ")"
        + "\(examination.info?.version.rawValue ?? "?"), \(files.count) files, "
        + "\(Console.bytes(examination.packedLength))")
    if !output.name.hasSuffix(".pkg") {
      console.note("A store takes only packages whose names end in .pkg")
    }
    return .done
  }

  private static func build(_ arguments: Arguments, to output: FilePlace) throws
    -> PackageExamination
  {
    let product = try arguments.value("--product").map { try ProductIdentifier($0) }
    let content = try arguments.value("--content").map { try ProductIdentifier($0) }
    let version = try arguments.value("--content-version").map { try ContentVersion($0) }
    // Stopped by a signal, it removes what it has written.
    let fileSystem = StopSignals().fileSystem
    let folder = try output.folder(fileSystem)
    switch (arguments.operands.first, try arguments.text("--from")) {
    case (let source?, nil):
      return try buildPackage(
        folder: fileSystem.directory(at: source), output: folder, outputName: output.name,
        productIdentifier: product, contentIdentifier: content, version: version)
    case (nil, let archive?):
      return try convertPackage(
        FileByteSource(fileSystem.file(at: archive)), name: archive, output: folder,
        outputName: output.name, productIdentifier: product, contentIdentifier: content,
        version: version)
    default: throw Arguments.wrong("package takes either FOLDER or --from ARCHIVE", "package")
    }
  }
}

/// A file's folder and name.
struct FilePlace {
  let path: String

  init(_ path: String) { self.path = path }

  /// The place of something that is to be made; a slash at the end is left out.
  ///
  /// Throws `usage` for a path that ends in no name, such as `..`.
  init(new path: String) throws {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    self.path = String(trimmed)
    guard !["", "/", ".", ".."].contains(name) else {
      throw ContentError(
        .usage, "“\(path)” ends in no name that could be made",
        remedy: "Give a path that ends in a new name", subject: path)
    }
  }

  var name: String { path.pathComponents().last ?? path }

  /// Opens the folder that holds it.
  func folder(_ fileSystem: FileSystem = .real) throws -> Directory {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      return try fileSystem.directory(at: ".")
    }
    let parent = String(path[...slash])
    return try fileSystem.directory(at: parent)
  }

  /// Opens it as the bytes of an archive.
  func byteSource() throws -> FileByteSource {
    try FileByteSource(FileSystem.real.file(at: path))
  }
}
