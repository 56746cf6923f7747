import CCurl

/// What libcurl's callbacks do, on the loop's thread: as little as can be.
extension Exchange {
  /// So much of an unwanted body is read in order to keep the connection.
  private static let discardLimit = 64 << 10

  /// Takes one header line; false ends the request.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    progress += Int64(line.count)
    if collector.add(line) { return true }
    fault = TransferFault(.headersTooLong)
    return false
  }

  /// Takes a part of the body and says what libcurl is to do.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    settleHead()
    if fault != nil || collector.head.isRedirect { return discard(bytes.count) }
    if let instant = loop.mayTake(bytes.count, of: self) {
      limitedUntil = instant
      return pause()
    }
    let answer = handler.receive(bytes)
    if case .wait = answer { return pause() }
    progress += Int64(bytes.count)
    ticket.board.receive(bytes.count)
    loop.board.receive(bytes.count)
    switch answer {
    case .wait: break
    case .taken: return bytes.count
    case .complete: isComplete = true
    case .refused(let refusal): fault = refusal
    }
    return 0
  }

  /// Shows the head to the handler, once, unless it leads elsewhere.
  func settleHead() {
    guard head == nil, fault == nil, !collector.head.isRedirect else { return }
    head = collector.head
    fault = handler.receive(collector.head)
    // A short error page is read away; a long one costs more than a new connection.
    let length = collector.head.contentLength ?? .max
    discardable = length <= Self.discardLimit ? Self.discardLimit : 0
    if fault?.kind.isStatus == false { discardable = 0 }
  }

  private func discard(_ count: Int) -> Int {
    progress += Int64(count)
    ticket.board.receive(count)
    loop.board.receive(count)
    if collector.head.isRedirect, discardable == 0 { discardable = Self.discardLimit }
    discardable -= count
    return discardable > 0 ? count : 0
  }

  private func pause() -> Int {
    isPaused = true
    return Int(CURL_WRITEFUNC_PAUSE)
  }
}

extension TransferFault.Kind {
  var isStatus: Bool { if case .status = self { true } else { false } }
}
