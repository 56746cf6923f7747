/// Records which pieces of a file were wrong, and at which addresses.
///
/// Pure. A file that was replaced by another one of the same length must not be fetched again and
/// again.
struct WrongPieces {
  /// The number of wrong pieces that cannot be an accident.
  static let limit = 3
  /// A piece that is wrong this often at an address is stored wrong, not damaged in transit.
  private static let repetitions = 2

  /// How often each piece was wrong, by address.
  private var counts: [[Int: Int]]

  /// Creates an empty record for `addresses` addresses.
  init(addresses: Int) { counts = Array(repeating: [:], count: addresses) }

  /// Records that a piece from an address was wrong.
  mutating func add(_ piece: Int, at address: Int) { counts[address][piece, default: 0] += 1 }

  /// Whether several pieces are wrong at all `addresses`.
  ///
  /// False for an empty list.
  func areSeveral(at addresses: [Int]) -> Bool {
    guard let first = addresses.first else { return false }
    let wrong = counts[first].keys.filter { piece in
      addresses.allSatisfy { counts[$0][piece, default: 0] >= Self.repetitions }
    }
    return wrong.count >= Self.limit
  }
}
