import ContentLibrary
import ContentModel
import FileIO
import HostedContent

/// `verify`: compares installed files with their records.
enum VerifyCommand {
  static let command = Command(
    name: "verify", summary: "Compares every byte of installed files with their recorded digests.",
    operands: "[ID…]", operandCount: 0...Int.max,
    options: [.library, .json, .limitRate],
    example: "hostedcontent verify --library lib", run: run)

  private struct Report: Encodable {
    let verified: Int
    let damages: [ContentDamage]
  }

  private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
    let wanted = Set(try arguments.operands.map { try arguments.identifier($0) })
    let library = try arguments.libraryReader()
    let rate = try arguments.bytesPerSecond()
    let contents = try library.contents()
    let known = Set(contents.map(\.content.contentIdentifier))
    let entries = contents.filter {
      wanted.isEmpty || wanted.contains($0.content.contentIdentifier)
    }
    var errors = wanted.subtracting(known).sorted().map {
      ContentError.notInstalled($0.rawValue, among: known)
    }
    if wanted.isEmpty { errors += try library.unreadableRecords() }
    var damages: [ContentDamage] = []
    var verified = 0
    for entry in entries {
      do {
        let pace = rate.map { ReadThrottle(bytesPerSecond: $0) }
        damages += try library.verify(entry.content, pace: pace)
        verified += 1
      } catch let error as ContentError
        where error.code == .notInstalled && wanted.isEmpty
      {
        // A queue has removed it after it was listed.
      } catch {
        // Report what cannot be read, and verify the others.
        let name = entry.content.contentIdentifier
        errors.append(ContentError(error, while: "verifying \(name)").about(name.rawValue))
      }
    }
    if arguments.has("--json") {
      try console.print(json: Report(verified: verified, damages: damages))
    } else {
      for damage in damages {
        let place = "\(damage.contentIdentifier) \(damage.version)"
        let path = damage.path.isEmpty ? "the whole folder" : damage.path
        console.print("\(place) \(path): \(damage.problem.rawValue)")
      }
      console.print(
        "\(verified) \(verified == 1 ? "version" : "versions") verified, "
          + "\(damages.count) \(damages.count == 1 ? "difference" : "differences")")
    }
    errors.forEach(console.report)
    return damages.isEmpty && errors.isEmpty ? .done : .failed
  }
}
