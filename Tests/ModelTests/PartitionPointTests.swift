import HostedModel
import Testing

@Suite("Binary search")
struct PartitionPointTests {
  @Test("It finds the first element that is not in front", arguments: 0..<12)
  func search(count: Int) {
    let numbers = Array(0..<count)
    for front in 0...count {
      #expect(numbers.partitionPoint { $0 < front } == front)
      let slice = numbers[(front / 2)...]
      #expect(slice.partitionPoint { $0 < front } == front)
    }
  }
}
