import HostedConcurrency
import HostedTestTraits
import Testing

@Suite("Blocking queue", .timeLimit(.hang))
struct BlockingQueueTests {
  @Test func `elements are taken in order, and the queue ends after the last one`() {
    let queue = BlockingQueue<Int>()
    queue.add(1)
    queue.add(2)
    let accepted = queue.add(3) { $0 == [1, 2] }
    let refused = queue.add(4) { $0.isEmpty }
    #expect(accepted && !refused)
    #expect(queue.close())
    let isAdded = queue.add(5)
    #expect(!isAdded && !queue.close())
    #expect(queue.next() == 1)
    #expect(queue.takeAll() == [2, 3])
    #expect(queue.next() == nil)
    #expect(queue.takeAll().isEmpty)
  }

  @Test func `sleeping threads are woken for elements and for the end`() throws {
    let (queue, sums) = (BlockingQueue<Int>(), BlockingQueue<Int>())
    let threads = try WorkerThreads(count: 4) { _ in
      var sum = 0
      while let number = queue.next() { sum += number }
      sums.add(sum)
    }
    for number in 1...1000 { queue.add(number) }
    queue.close()
    threads.join()
    #expect(sums.takeAll().reduce(0, +) == 500_500)
  }

  @Test func `a thread does other work while the queue is empty`() {
    let queue = BlockingQueue<Int>()
    var turns = 0
    let element = queue.next {
      turns += 1
      if turns == 3 { queue.add(7) }
      return true
    }
    #expect(element == 7 && turns == 3)
  }
}
