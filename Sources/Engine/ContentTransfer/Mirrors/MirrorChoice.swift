/// Which of a file's addresses is asked next, and from when on; pure.
struct MirrorChoice: Hashable {
  /// The address's place in the list.
  var mirror: Int
  /// The instant before which it must not be asked.
  let notBefore: Double
  /// Why not before; nil when it may be asked now.
  let fault: TransferFault?

  /// What is known of one address.
  struct Candidate {
    /// What came of this file's own requests there.
    var file: (until: Double, fault: TransferFault)?
    /// What came of everybody's requests to its host.
    var host: (until: Double, fault: TransferFault)?
    /// How long its host refuses requests.
    var pause: (until: Double, fault: TransferFault)?
    /// Failures in a row, of any of these.
    var failures = 0
    /// Whether another one was found to be much faster.
    var isSlow = false
    var ranges = true

    /// The latest of the instants.
    var delay: (until: Double, fault: TransferFault)? {
      [file, host, pause].compactMap { $0 }.max { $0.until < $1.until }
    }
  }

  /// Chooses among `candidates`, which are in order of preference and not empty.
  ///
  /// One that may be asked now comes before one that must wait; among those the one with fewest
  /// failures, then one that is not slow, then one that sends ranges, then the first. When all must
  /// wait: the one that waits for the shortest time.
  init(among candidates: [Candidate], at now: Double) {
    func rank(_ candidate: Candidate) -> (Double, Int, Int, Int) {
      (
        max(candidate.delay?.until ?? now, now), candidate.failures, candidate.isSlow ? 1 : 0,
        candidate.ranges ? 0 : 1
      )
    }
    var best = 0
    for index in candidates.indices where rank(candidates[index]) < rank(candidates[best]) {
      best = index
    }
    mirror = best
    let delay = candidates[best].delay
    notBefore = max(delay?.until ?? now, now)
    fault = notBefore > now ? delay?.fault : nil
  }
}
