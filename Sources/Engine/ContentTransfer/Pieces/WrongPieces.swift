/// Which pieces of a file were wrong, and at which of its addresses; pure.
///
/// A file that was replaced by another one of the same length must not be fetched again and again.
struct WrongPieces {
  /// This many wrong pieces are more than an accident.
  static let limit = 3
  /// A piece that is wrong this often at an address is wrong there, and not only on its way.
  private static let repetitions = 2

  /// How often each piece was wrong, by address.
  private var counts: [[Int: Int]]

  /// Nothing is wrong yet at `addresses` addresses.
  init(addresses: Int) { counts = Array(repeating: [:], count: addresses) }

  /// Takes note that a piece from an address was wrong.
  mutating func add(_ piece: Int, at address: Int) { counts[address][piece, default: 0] += 1 }

  /// Whether several pieces are wrong at each of `addresses`, which are not none.
  func areSeveral(at addresses: [Int]) -> Bool {
    guard let first = addresses.first else { return false }
    let wrong = counts[first].keys.filter { piece in
      addresses.allSatisfy { counts[$0][piece, default: 0] >= Self.repetitions }
    }
    return wrong.count >= Self.limit
  }
}
