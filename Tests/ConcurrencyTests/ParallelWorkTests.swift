import HostedConcurrency
import Testing

@Suite("Parallel work")
struct ParallelWorkTests {
  private struct Failure: Error {}

  @Test("Each item is used once, on one thread or on several", arguments: [0, 1, 4])
  func items(workers: Int) throws {
    let values = try inParallel(Array(0..<100), workers: workers, portion: 3, context: { 1 }) {
      number, one -> Int? in
      number + one
    }
    #expect(values.sorted() == Array(1...100))
  }

  @Test("An error ends the work and is thrown", arguments: [1, 4])
  func error(workers: Int) {
    #expect(throws: Failure.self) {
      try inParallel(Array(0..<100), workers: workers, context: {}) { number, _ -> Int? in
        if number == 50 { throw Failure() }
        return number
      }
    }
  }
}
