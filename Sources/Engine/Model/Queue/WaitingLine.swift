/// A download in the queue, as it was when it was looked up.
///
/// Places of equal rank in the line are equal.
struct DownloadPlace: Hashable, Sendable {
  let record: TransactionRecord
  /// The position in its transaction.
  let position: Int

  var download: DownloadRecord { record.downloads[position] }

  var content: ProductIdentifier { download.offer.contentIdentifier }

  /// The sort key in the line.
  fileprivate var rank: (Int32, Int, Int) { (-download.priority, record.sequence, position) }

  static func == (left: Self, right: Self) -> Bool { left.rank == right.rank }

  func hash(into hasher: inout Hasher) {
    hasher.combine(record.sequence)
    hasher.combine(position)
  }
}

/// Requested downloads that wait for a free worker, by priority, then in the queue's order.
struct WaitingLine: Hashable, Sendable {
  /// A slice, because most are removed from its start, which then moves no others.
  private(set) var places: ArraySlice<DownloadPlace> = []
  /// The number of waiting downloads of each content.
  private var counts: [ProductIdentifier: Int] = [:]

  mutating func insert(_ place: DownloadPlace) {
    let index = index(of: place)
    if index < places.endIndex, places[index] == place { return }
    places.insert(place, at: index)
    counts[place.content, default: 0] += 1
  }

  mutating func remove(_ place: DownloadPlace) {
    let index = index(of: place)
    guard index < places.endIndex, places[index] == place else { return }
    let content = places[index].content
    if index == places.startIndex { places.removeFirst() } else { places.remove(at: index) }
    // Frees the records before the start.
    if places.startIndex > places.count { places = ArraySlice(Array(places)) }
    let count = (counts[content] ?? 0) - 1
    counts[content] = count > 0 ? count : nil
  }

  /// Returns the places of a content, in order.
  func places(of content: ProductIdentifier) -> [DownloadPlace] {
    counts[content] == nil ? [] : places.filter { $0.content == content }
  }

  /// Returns the number of waiting contents that are not `busy`.
  func contentCount(besides busy: Set<ProductIdentifier>) -> Int {
    counts.count - busy.count { counts[$0] != nil }
  }

  /// Returns the index of `place`, or where to insert it.
  private func index(of place: DownloadPlace) -> Int {
    places.partitionPoint { $0.rank < place.rank }
  }
}
