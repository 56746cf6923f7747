import HostedTestSupport
import Testing

@testable import HostedPackage

@Suite("Cutting large files")
struct ContentCutterTests {
  /// Updates look for these pieces in installed files, which may come from an earlier version.
  @Test("The same bytes have the same pieces in every version of the software")
  func lengths() {
    var random = SplitMix(state: 7)
    let lengths = random.bytes(600_000).withUnsafeBytes { bytes in
      var lengths: [Int] = []
      var start = 0
      while start < bytes.count {
        let length = ContentCutter.cut(UnsafeRawBufferPointer(rebasing: bytes[start...]))
        lengths.append(length)
        start += length
      }
      return lengths
    }
    #expect(lengths == [122_772, 133_793, 119_451, 152_430, 71_554])
  }
}
