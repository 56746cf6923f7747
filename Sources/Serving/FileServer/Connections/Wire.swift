import Glibc
import HostedCLinux
import HostedCMicroHTTPD
import HostedConcurrency
import HostedModel

/// A connection's socket below HTTP, including TLS; only used by the connection's thread.
struct Wire {
  let descriptor: Int32
  /// The TLS session; nil for a plain connection.
  let session: UnsafeMutableRawPointer?
  let stop: StopLatch
  /// The maximum time in which a client may accept no bytes.
  let idleSeconds: Int

  /// Sends all of `bytes`; returns false if the client leaves or stalls, or the server stops.
  func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
      let count = session.map { hc_http_tls_send($0, rest.baseAddress, rest.count) } ?? write(rest)
      if count < 0 { return false }
      sent += count
      if count == 0, !waitForRoom() { return false }
    }
    return true
  }

  /// Waits for `time`; nil waits indefinitely.
  ///
  /// Returns false if the client leaves or the server stops.
  func wait(_ time: Duration?) -> Bool {
    let end = time.map { ContinuousClock.now + $0 }
    while true {
      let left = end.map { $0 - .now }
      if let left, left <= .zero { return true }
      // Rounded up, and at most one day at once.
      let milliseconds = left.map { Int32(min(86_400, $0.inSeconds) * 1_000) + 1 } ?? -1
      if poll(hc_poll_peer_closed(), milliseconds) != 0 { return false }
    }
  }

  /// Shuts down both directions at once.
  ///
  /// TLS sends no close alert.
  func cut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Resets the connection: disconnecting the socket's address sends RST at once.
  func reset() {
    var unspecified = sockaddr()
    unspecified.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(descriptor, &unspecified, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// Returns the number of written bytes: 0 if the socket is full, -1 if it is broken.
  private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : -1
  }

  /// Waits until the socket accepts more bytes.
  ///
  /// Fails if the client has closed its side, because its buffer may stay full forever.
  private func waitForRoom() -> Bool {
    let limit = Int32(clamping: Int64(idleSeconds) * 1_000)
    return poll(Int16(POLLOUT) | hc_poll_peer_closed(), limit) == Int16(POLLOUT)
  }

  /// Returns the events in `events`, or those of a broken connection; POLLNVAL if the server stops.
  private func poll(_ events: Int16, _ milliseconds: Int32) -> Int16 {
    var waited = [
      pollfd(fd: descriptor, events: events, revents: 0),
      pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    var count: Int32
    repeat { count = Glibc.poll(&waited, 2, milliseconds) } while count < 0 && errno == EINTR
    if count <= 0 { return 0 }
    return waited[1].revents != 0 ? Int16(POLLNVAL) : waited[0].revents
  }
}

/// Limits the rate of sent bytes: tells each sender how long to wait.
///
/// The schedule continues from its last end, not from the time when a sleeper woke, so that late
/// wake-ups do not add up. Idle time gives credit for a moment at most.
final class SendPacer: Sendable {
  private let bytesPerSecond: Int64
  private let start: ContinuousClock.Instant
  private let schedule: Mutex<RateSchedule>

  /// In seconds.
  private static let allowance = 0.02

  init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    start = now
    schedule = Mutex(RateSchedule(rate: Double(self.bytesPerSecond), burst: Self.allowance, at: 0))
  }

  /// Schedules `count` bytes; returns the time from `now` until they have passed.
  func delay(of count: Int, now: ContinuousClock.Instant = .now) -> Duration {
    let time = (now - start) / .seconds(1)
    return schedule.withLock { schedule in
      schedule.take(Double(count), at: time)
      return .seconds(schedule.wait(at: time))
    }
  }

  /// The best number of bytes to send at once: about 5 ms.
  var portion: Int { Int(min(64 << 10, max(1, bytesPerSecond / 200))) }
}

/// The rate limits of a response: its own, and the server's limit, which all responses share.
struct Pace {
  let limiters: [SendPacer]

  /// The best number of bytes to send at once.
  var portion: Int { limiters.map(\.portion).min() ?? 64 << 10 }

  /// Waits until `count` bytes have passed; returns false if the client leaves or the server stops.
  func wait(for count: Int, _ wire: Wire) -> Bool {
    guard let delay = limiters.map({ $0.delay(of: count) }).max() else { return true }
    // Shorter delays accumulate, because a sleep is not that precise.
    return delay < .milliseconds(1) || wire.wait(delay)
  }
}
