import HostedPackage
import ContentStore
import HostedFileIO
import Foundation
import HostedContent

/// Updates by a monitor, and the memory of a process with many installs and removals.
enum Updates {
  /// Updates `count` products in a folder that "publish" has filled.
  static func run(_ path: String, _ count: Int) async throws {
    let queue = try installed(path, count)
    try publish(path, "2.0", count)
    let monitor = UpdateMonitor(queue, policy: .automatic)
    let start = ContinuousClock.now
    let check = try await monitor.check()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("\(check.installed.count) updates by a monitor, seconds: \(seconds.text(2))")
    print("\(count) updates by a monitor, failures: \(check.failures.count)")
    queue.close()
  }

  /// Installs and removes the products of a folder that "publish" has filled, `rounds` times.
  static func churn(_ path: String, rounds: Int) async throws {
    let count = 100
    for round in 1...rounds {
      let queue = try installed(path, count)
      for number in 0..<count {
        try await queue.remove(ManyDownloads.product(number), version: ContentVersion("1.0"))
      }
      queue.close()
      guard round == 1 || round % max(1, rounds / 5) == 0 else { continue }
      let megabytes = Double(try Process.residentBytes()) / 1e6
      print("round \(round), threads: \(try Process.threads()), MB resident: \(megabytes.text(1))")
      fflush(nil)
    }
  }

  private static func installed(_ path: String, _ count: Int) throws -> PaymentQueue {
    let configuration = try ManyDownloads.configuration(path, library: "library-updates")
    let queue = try PaymentQueue(configuration)
    let observer = Deliverer { $0.removed == count }
    queue.add(observer)
    for number in 0..<count {
      queue.add(Payment(productIdentifier: try ManyDownloads.product(number)))
    }
    observer.wait()
    queue.remove(observer)
    return queue
  }

  private static func publish(_ path: String, _ version: String, _ count: Int) throws {
    let folder = try FileSystem.real.directory(at: path)
    let packages = try (0..<count).map { number in
      let name = "\(number)-\(version).pkg"
      _ = try buildPackage(
        folder: FileSystem.real.directory(at: "\(path)/source/\(number)"), output: folder,
        outputName: name, productIdentifier: ManyDownloads.product(number),
        version: ContentVersion(validating: version))
      return "\(path)/\(name)"
    }
    try StoreFolder.open(at: "\(path)/store").publish(packages)
  }
}
