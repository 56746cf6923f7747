import HostedModel
import HostedFileIO
import HostedSimulation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Performs the same random steps on a simulated disk and in a real folder.
@Suite("A simulated disk behaves like the kernel")
struct DifferenceTests {
  @Test("Each step has the same result or error", .slow, arguments: 1...20)
  func same(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let disk = SimulatedDisk()
    let real = folder.directory
    let simulated = try disk.fileSystem.directory(at: "/")
    var random = SplitMix(state: seed)
    var history: [String] = []
    for _ in 0..<150 {
      let step = Step(&random)
      history.append("\(step)")
      let (left, right) = (step.result(in: real), step.result(in: simulated))
      #expect(left == right, "\(history.suffix(12))")
      #expect(try Self.tree(real) == Self.tree(simulated), "\(history.suffix(12))")
      if left != right { return }
    }
  }

  /// A step with one of a few names, so that steps affect each other.
  private struct Step: CustomStringConvertible {
    let kind: Int
    let folders: (String, String)
    let names: (String, String)
    let bytes: [UInt8]
    let offset: Int64

    init(_ random: inout SplitMix) {
      func one(_ words: [String]) -> String { words[Int(random.next() % UInt64(words.count))] }
      kind = Int(random.next() % 14)
      folders = (one(["", "d", "e"]), one(["", "d", "e"]))
      names = (one(["a", "b", "d", "e", "l"]), one(["a", "b", "d", "e", "l"]))
      bytes = (0..<(random.next() % 50)).map { UInt8(truncatingIfNeeded: $0) }
      offset = Int64(random.next() % 60)
    }

    var description: String { "\(kind) \(folders) \(names) \(bytes.count) \(offset)" }

    /// Returns the result, or the error message of the system.
    func result(in root: Directory) -> String {
      do {
        let from = folders.0.isEmpty ? root : try root.directory(folders.0)
        let to = folders.1.isEmpty ? root : try root.directory(folders.1)
        return try perform(from, to)
      } catch let error as ContentError {
        return "\(error.code.rawValue) \(error.cause ?? "")"
      } catch {
        return "\(error)"
      }
    }

    private func perform(_ from: Directory, _ to: Directory) throws -> String {
      let (name, other) = names
      switch kind {
      case 0: try from.createFile(name).write(bytes)
      case 1: try from.createDirectory(name, exclusive: offset % 2 == 0)
      case 2:
        let file = try from.updatedFile(name)
        try bytes.withUnsafeBytes { try file.write($0, at: offset) }
      case 3: try from.updatedFile(name).truncate(to: offset)
      case 4: try from.createLink(name, to: other)
      case 5: return try from.link(name) ?? "none"
      case 6: try from.hardLink(name, to: to, other)
      case 7: try from.rename(name, to: to, other)
      case 8: try from.renameWithoutReplacing(name, to: to, other)
      case 10: try from.removeFile(name)
      case 11: try from.removeTree(name)
      case 12: return "\(try from.contents(of: name, limit: 1 << 20))"
      default:
        try from.file(name).setPermissions(offset % 2 == 0 ? 0o700 : 0o755)
        return "\(try from.status(of: name)?.permissions ?? 0)"
      }
      return "done"
    }
  }

  /// Returns everything below a folder, including bytes, as text.
  private static func tree(_ folder: Directory, _ prefix: String = "") throws -> [String] {
    try folder.entries().sorted { $0.name < $1.name }.flatMap { entry in
      let name = entry.name
      return switch entry.kind {
      case .directory: try ["\(prefix)\(name)/"] + tree(folder.directory(name), "\(prefix)\(name)/")
      case .link: ["\(prefix)\(name) -> \(try folder.link(name) ?? "")"]
      case .file, .other:
        ["\(prefix)\(name) \(try folder.contents(of: name, limit: 1 << 20))"]
      }
    }
  }
}
