import Foundation

/// The resources of a process and its folder at one time.
package struct Usage: Sendable {
  package let descriptors: Int
  package let threads: Int
  /// Bytes.
  package let resident: Int
  /// The bytes of its folder on disk, or 0 without a folder.
  package let disk: Int

  /// Reads them from /proc, or nil if the process does not exist.
  package init?(of process: Int32, folder: String? = nil) {
    let place = "/proc/\(process)"
    guard let files = try? FileManager.default.contentsOfDirectory(atPath: "\(place)/fd"),
      let tasks = try? FileManager.default.contentsOfDirectory(atPath: "\(place)/task"),
      let statm = try? String(contentsOfFile: "\(place)/statm", encoding: .utf8)
    else { return nil }
    let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    descriptors = files.count
    threads = tasks.count
    resident = pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    disk = folder.map(Self.bytes) ?? 0
  }

  /// The bytes of the files below `folder`.
  ///
  /// Each inode counts once.
  private static func bytes(below folder: String) -> Int {
    var seen: Set<UInt> = []
    var total = 0
    for path in (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? [] {
      var status = stat()
      guard lstat("\(folder)/\(path)", &status) == 0, seen.insert(status.st_ino).inserted else {
        continue
      }
      total += Int(status.st_blocks) * 512
    }
    return total
  }
}
