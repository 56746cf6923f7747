import Foundation
import Testing

/// Searches files and texts for secrets: as they are, in hexadecimal digits, and in base64.
final class SecretSearch {
  private struct Secret {
    let name: String
    let forms: [Data]
  }

  private var secrets: [Secret] = []
  /// Texts that must not contain a secret.
  private var texts: [String] = []
  /// The names of the secrets that a file may contain, by its path.
  private let holders: [String: Set<String>]

  /// Shorter encoded texts could be found by chance.
  private static let minimumEncoded = 12

  init(holders: [String: Set<String>]) { self.holders = holders }

  /// Adds a secret, or another text that reveals one.
  func add(_ name: String, _ secret: String) {
    let bytes = Data(secret.utf8)
    var forms = [secret]
    if bytes.count >= Self.minimumEncoded {
      // Without the last group, which depends on what follows.
      let base64 = bytes.prefix(bytes.count / 3 * 3).base64EncodedString()
      forms += [base64, base64.replacing("+", with: "-").replacing("/", with: "_")]
      forms.append(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
    secrets.append(Secret(name: name, forms: forms.map { Data($0.utf8) }))
  }

  /// Adds a text that is searched, such as what a program has printed.
  func note(_ text: String) { texts.append(text) }

  /// Fails the test if a text contains a secret, or a file that may not contain it.
  func expectNone(in tool: Tool, location: SourceLocation = #_sourceLocation) throws {
    for text in texts {
      #expect(found(in: Data(text.utf8)).isEmpty, "\(text)", sourceLocation: location)
    }
    let files = try tool.tree()
    for (path, bytes) in files {
      let wrong = found(in: bytes).subtracting(holders[path] ?? [])
      #expect(wrong.isEmpty, "\(path)", sourceLocation: location)
    }
    // The search finds what is there.
    #expect(found(in: files["token"] ?? Data()) == ["token"], sourceLocation: location)
  }

  /// The names of the secrets in `bytes`.
  private func found(in bytes: Data) -> Set<String> {
    let found = secrets.filter { $0.forms.contains { bytes.range(of: $0) != nil } }
    return Set(found.map(\.name))
  }
}
