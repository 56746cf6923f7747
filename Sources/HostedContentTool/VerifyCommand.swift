import ContentLibrary
import ContentModel
import HostedContent

/// `verify`: every installed byte against what was installed.
enum VerifyCommand {
  static let command = Command(
    name: "verify", summary: "Compares every installed byte with what was installed.",
    operands: "[ID…]", operandCount: 0...Int.max, options: [.library, .json],
    example: "hostedcontent verify --library lib", run: run)

  private struct Report: Encodable {
    let verified: Int
    let damages: [ContentDamage]
  }

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let library = try arguments.libraryReader()
    let wanted = try Set(arguments.operands.map { try ProductIdentifier($0) })
    let entries = try library.contents().filter {
      wanted.isEmpty || wanted.contains($0.content.contentIdentifier)
    }
    for missing in wanted.subtracting(entries.map(\.content.contentIdentifier)).sorted() {
      throw ContentError(
        .notInstalled, "\(missing) is not installed", remedy: "Get it first, or check the name",
        subject: missing.rawValue)
    }
    let damages = try entries.flatMap { try library.verify($0.content) }
    if arguments.has("--json") {
      try console.print(json: Report(verified: entries.count, damages: damages))
    } else {
      for damage in damages {
        console.print(
          "\(damage.contentIdentifier) \(damage.version) \(damage.path): \(damage.problem.rawValue)"
        )
      }
      console.print("\(entries.count) versions verified, \(damages.count) differences")
    }
    return damages.isEmpty ? .done : .failed
  }
}
