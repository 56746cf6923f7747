import HostedModel
import HostedDigests
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedTransfer

@Suite("Grouping pieces into requests, and assembling them")
struct FetchPlanTests {
  private func piece(_ offset: Int64, _ length: Int) throws -> Piece {
    Piece(offset: offset, length: length, digest: try Digest(of: [UInt8]()))
  }

  private func plan(
    _ extents: [(Int64, Int)], gap: Int64 = 10, minimum: Int64 = 100, maximum: Int64 = 1000
  ) throws -> FetchPlan {
    FetchPlan(
      try extents.map { try piece($0.0, $0.1) },
      sizes: FetchPlan.Sizes(gap: gap, minimum: minimum, maximum: maximum))
  }

  private func drain(_ plan: inout FetchPlan, connections: Int = 1) -> [Range<Int64>] {
    var ranges: [Range<Int64>] = []
    while let numbers = plan.next(connections: connections) {
      ranges.append(plan.span(of: numbers))
    }
    return ranges
  }

  @Test("Neighbors are merged, even over small gaps, and distant pieces are not")
  func merging() throws {
    var adjacent = try plan([(0, 20), (20, 20), (40, 20)])
    #expect(drain(&adjacent) == [0..<60])
    var near = try plan([(0, 20), (30, 20), (61, 20)])
    #expect(drain(&near) == [0..<50, 61..<81])
    var none = try plan([])
    #expect(drain(&none) == [])
    #expect(none.left == 0)
  }

  @Test("Ranges are shares of the missing bytes, between the minimum and the maximum")
  func shares() throws {
    var one = try plan((0..<100).map { ($0 * 50, 50) })
    let sizes = drain(&one, connections: 4).map(\.count)
    #expect(sizes.reduce(0, +) == 5000)
    #expect(sizes.allSatisfy { $0 <= 1000 && $0 >= 50 })
    #expect(sizes[0] == 600)
    #expect(sizes == sizes.sorted(by: >))
    var large = try plan([(0, 5000), (5000, 5000)])
    #expect(drain(&large) == [0..<5000, 5000..<10_000])
    var small = try plan((0..<10).map { ($0 * 10, 10) })
    #expect(drain(&small, connections: 4) == [0..<100])
  }

  @Test("A file is requested as a whole if nearly all of it is needed")
  func whole() throws {
    let plan = try plan([(0, 100), (100, 3100), (3200, 96_800)])
    #expect(plan.isWhole([0, 1, 2], of: 100_000))
    #expect(plan.isWhole([1, 2], of: 100_000))
    #expect(!plan.isWhole([2], of: 100_000))
    #expect(!plan.isWhole([0, 1, 2], of: 110_000))
    #expect(!(try self.plan([(0, 990_000)])).isWhole([0], of: 1_000_000))
  }

  @Test(
    "A gigabyte takes few requests for any length of pieces", .slow,
    arguments: [4096, 1 << 20])
  func requests(length: Int) throws {
    let count = (1 << 30) / length
    var plan = FetchPlan(
      try (0..<count).map { try piece(Int64($0 * length), length) }, sizes: FetchPlan.Sizes())
    #expect(drain(&plan, connections: 4).count <= 40)
  }

  @Test("Pieces that are put back wait again, merged, without complete ones")
  func puttingBack() throws {
    var plan = try plan((0..<10).map { ($0 * 20, 20) }, minimum: 1000)
    let next = plan.next(connections: 1)
    let numbers = try #require(next)
    #expect(numbers == Array(0..<10))
    #expect(!plan.hasWaiting)
    for number in [0, 1, 5] { plan.complete(number) }
    #expect(plan.putBack(numbers) == 2)
    #expect(drain(&plan) == [40..<100, 120..<200])
    for number in 0..<10 { plan.complete(number) }
    #expect(plan.left == 0)
    #expect(plan.putBack(numbers) == nil)
    #expect(!plan.hasWaiting)
    #expect(plan.fail(3) == 1)
    #expect(plan.fail(3) == 2)
    #expect(plan.fail(4) == 1)
  }

  @Test(
    "Every piece is fetched in any order of requests, ends and retries",
    arguments: 0..<UInt64(SlowTests.areOn ? 20 : 5))
  func anyOrder(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var offset: Int64 = 0
    let extents = (0..<200).map { _ in
      offset += Int64.random(in: 0...20, using: &random)
      let length = Int.random(in: 1...60, using: &random)
      defer { offset += Int64(length) }
      return (offset, length)
    }
    var plan = try plan(extents)
    var out: [[Int]] = []
    while plan.left > 0 {
      if Bool.random(using: &random) || out.isEmpty {
        let all = Int.random(in: 0..<20, using: &random) == 0
        if let numbers = all ? plan.takeAll() : plan.next(connections: 3) { out.append(numbers) }
        #expect(out.last.map { $0 == $0.sorted() } ?? true)
      } else {
        let numbers = out.remove(at: Int.random(in: 0..<out.count, using: &random))
        for number in numbers where Int.random(in: 0..<3, using: &random) > 0 {
          plan.complete(number)
        }
        plan.putBack(numbers)
      }
      #expect(Set(out.joined()).count == out.joined().count)
    }
  }

  // MARK: Assembling

  @Test(
    "Pieces are correct for any chunks, waits and offsets of a body",
    arguments: 0..<UInt64(SlowTests.areOn ? 50 : 10))
  func assembling(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let file = try SampleFile(length: 20_000, pieces: [100, 1, 3000, 17], seed: seed)
    let wanted = file.pieces.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
    let start = Int64.random(in: 0...3000, using: &random)
    let end = Int64.random(in: 15_000...20_000, using: &random)
    var assembler = PieceAssembler(wanted)
    assembler.begin(RangeAnswer(start: start, end: end, isEndPromised: .random(using: &random)))
    var found: [Piece] = []
    let full: (Slab) -> Void = { slab in
      var place = 0
      for piece in wanted[slab.pieces] {
        let bytes = slab.memory[place..<(place + piece.length)]
        #expect(bytes.elementsEqual(file.bytes[Int(piece.offset)..<Int(piece.end)]))
        place += piece.length
        found.append(piece)
      }
    }
    var position = Int(start)
    var isComplete = false
    while position < end, !isComplete {
      let count = min(Int.random(in: 1...5000, using: &random), Int(end) - position)
      // A chunk that has to wait is passed again from its start.
      var answer = BodyAnswer.wait
      while case .wait = answer {
        // At any time it may be asked for what is whole.
        if Bool.random(using: &random), let slab = assembler.handOverPieces() { full(slab) }
        answer = file.bytes[position..<(position + count)].withUnsafeBytes { bytes in
          assembler.take(
            bytes,
            room: { Bool.random(using: &random) ? Slab(capacity: max($0, 4000)) : nil }, full: full)
        }
      }
      if case .complete = answer { isComplete = true }
      position += count
    }
    if let rest = assembler.endBody() { full(rest) }
    #expect(found == wanted.filter { $0.offset >= start && $0.end <= end })
  }

  @Test("The last pieces are delivered at a declared end, and before an undeclared one")
  func lastPieces() throws {
    let file = try SampleFile(length: 5000, pieces: [3000])
    for isEndPromised in [true, false] {
      var assembler = PieceAssembler(file.pieces)
      assembler.begin(RangeAnswer(start: 0, end: 5000, isEndPromised: isEndPromised))
      var early: Slab?
      file.bytes.withUnsafeBytes { bytes in
        _ = assembler.take(bytes, room: { Slab(capacity: max($0, 8000)) }, full: { early = $0 })
      }
      #expect(early?.pieces == (isEndPromised ? nil : 0..<2))
      #expect(assembler.endBody()?.pieces == (isEndPromised ? 0..<2 : nil))
    }
  }

  @Test("The receive buffer depends on the round-trip time, up to a limit")
  func receiveWindows() {
    let cases: [(milliseconds: Double, bytes: Int?)] = [
      (0.02, 384 << 10), (0.1, 384 << 10), (0.4, 500_000), (0.8, 1_000_000), (1, nil), (200, nil),
    ]
    for (milliseconds, bytes) in cases {
      #expect(ReceiveWindow.bytes(roundTrip: milliseconds / 1000) == bytes, "\(milliseconds) ms")
    }
  }

  @Test("One request replaces several with a short round trip, else the limit applies")
  func connections() throws {
    let session = try HTTPSession(impatientConfiguration())
    let (near, far) = (try WebURL("https://a.example/x"), try WebURL("https://b.example/y"))
    for limit in [2, 3] {
      session.limits.connectionsPerTransfer = limit
      // The last measurement counts. The other server was not measured.
      for (milliseconds, isShort) in [(0.02, true), (0.4, false), (20, false), (0.3, true)] {
        session.loop.distances.note(milliseconds / 1000, to: near.origin)
        let expected = isShort ? (1, limit) : (limit, 1)
        #expect(session.connections(to: near) == expected, "\(milliseconds) ms")
      }
      #expect(session.connections(to: far) == (limit, 1))
    }
    session.limits.connectionsPerTransfer = 0
    #expect(session.connections(to: far) == (1, 1))
    // With a proxy, the proxy is the near server.
    var configuration = impatientConfiguration()
    configuration.proxy = .url("http://127.0.0.1:1")
    let behind = try HTTPSession(configuration)
    behind.loop.distances.note(0.000_02, to: near.origin)
    #expect(behind.connections(to: near) == (2, 1))
  }

  @Test("A small file of a distant server is fetched whole, without its index")
  func bestWhole() throws {
    let source = try HTTPPieceSource(at: "https://a.example/")
    let digest = try Digest(of: [UInt8]())
    func isBestWhole(_ length: Int64) -> Bool {
      source.isBestWhole(SignedFile(path: "a", length: length, digest: digest))
    }
    #expect(!isBestWhole(100))
    for (milliseconds, isLong) in [(1.0, false), (100, true), (10, false), (20, true)] {
      source.session.loop.distances.note(milliseconds / 1000, to: source.mirrors[0].origin)
      #expect(isBestWhole(100_000) == isLong, "\(milliseconds) ms")
      #expect(!isBestWhole(1_000_000))
    }
  }

  @Test("Memory depends on the pieces, and is at least the longest one")
  func slabSizes() throws {
    let cases: [([Int], length: Int, count: Int)] = [
      ([10], 64 << 10, 1), ([1000, 100_000], 128 << 10, 1),
      ([Int](repeating: 4096, count: 1000), 128 << 10, 3),
      ([1 << 20, 1 << 20], 1 << 20, 3), ([5 << 20, 5 << 20], 5 << 20, 3), ([64 << 20], 64 << 20, 1),
    ]
    for (lengths, length, count) in cases {
      let pieces = try lengths.map { try piece(0, $0) }
      let sizes = SlabSizes(for: pieces)
      #expect(sizes.length == length && sizes.count == count, "\(lengths.prefix(3))")
      let several = SlabSizes(for: pieces, insteadOf: 3)
      #expect(several.length == length && several.count == (count == 1 ? 1 : 9))
    }
  }
}
