/// The address of the next request, and its earliest start; pure.
struct MirrorChoice: Hashable {
  /// The index of the address in the list.
  var mirror: Int
  /// The uptime before which the request must not start.
  let notBefore: Double
  /// The reason for `notBefore`, or nil if the request may start now.
  let fault: TransferFault?

  /// The state of one address.
  struct Candidate {
    /// The delays after failed requests for this file, to its host, and after a refusal.
    var delays: [(until: Double, fault: TransferFault)] = []
    /// The total number of failures in a row.
    var failures = 0
    /// Whether another mirror is much faster.
    var isSlow = false
    var ranges = true

    /// The latest delay.
    var delay: (until: Double, fault: TransferFault)? { delays.max { $0.until < $1.until } }
  }

  /// Chooses one of `candidates`, which are in order of preference and not empty.
  ///
  /// Candidates without a delay come first, then those with the shortest delay. Among those, the
  /// choice is by the fewest failures, then by speed, then by support of ranges, then by order.
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
