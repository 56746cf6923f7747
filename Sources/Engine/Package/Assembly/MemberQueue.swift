import HostedFileIO
import HostedConcurrency

/// A bounded queue of compressed members, from the fetching thread to the decoding threads.
///
/// If the queue is full, the fetching thread decodes the member. This is the back-pressure of a
/// slow disk on a fast network.
final class MemberQueue: Sendable {
  /// The limit of waiting members: each `put` adds up their lengths.
  private static let maximumCount = 64

  private let limit: Int
  private let waiting = BlockingQueue<(member: Int, bytes: LentBytes)>()
  private let failure = Mutex((any Error)?.none)

  /// Creates a queue of at most `limit` bytes and 64 members, or of one longer member.
  init(limit: Int) { self.limit = limit }

  /// Adds a member; returns false if the queue is full.
  func put(_ bytes: LentBytes, member: Int) -> Bool {
    waiting.add((member: member, bytes: bytes)) { waiting in
      guard waiting.count < Self.maximumCount else { return false }
      return waiting.isEmpty || waiting.reduce(bytes.count) { $0 + $1.bytes.count } <= limit
    }
  }

  /// Ends the queue; its readers stop after the last member.
  func close() { waiting.close() }

  /// Passes members to `body` until the queue ends; calls `meanwhile` while it is empty.
  func drain(
    meanwhile: () throws -> Bool, _ body: (Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    while let (member, bytes) = try waiting.next(meanwhile: meanwhile) {
      // After an error of another thread, the members are removed but not decoded.
      if error == nil { try bytes.withBytes { try body(member, $0) } }
    }
    while error == nil, try meanwhile() {}
  }

  /// Removes members until the queue ends.
  func discardAll() {
    while waiting.next() != nil {}
  }

  func fail(_ error: any Error) { failure.withLock { $0 = $0 ?? error } }

  var error: (any Error)? { failure.withLock { $0 } }
}
