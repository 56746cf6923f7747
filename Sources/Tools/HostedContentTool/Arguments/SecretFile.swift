import HostedModel
import HostedFileIO
import Glibc

/// Reads secrets from files and pipes, because all users can see the arguments of processes.
enum SecretFile {
  private static let limit = 16 << 10

  /// Returns the bytes of the file or pipe at `path`, such as `/dev/fd/3`.
  static func contents(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ContentError(errno: errno, .open, path) }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { buffer in
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        return read(descriptor, rest.baseAddress, rest.count)
      }
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else { throw ContentError(errno: errno, .read, path) }
      if more == 0 { return Array(bytes[..<count]) }
      count += more
    }
    throw ContentError(
      .limitExceeded, "\(path) has more than \(limit) bytes",
      remedy: "Check that this is the correct file", subject: path)
  }
}

extension Arguments {
  /// The text in the file of `option`, without white space; nil without the option.
  func secret(_ option: String) throws -> String? {
    try text(option).map { path in
      let text = String(decoding: try SecretFile.contents(path), as: UTF8.self)
        .split(whereSeparator: \.isWhitespace).joined()
      guard !text.isEmpty else { throw wrong("\(option) names an empty file") }
      return text
    }
  }
}
