import HostedModel
import Testing

@Suite struct PackageIndexTests {
  @Test(arguments: ["a", "é", "😀"], [100, 1024, 5000])
  func `an index with an obstacle of any length can be decoded`(
    _ letter: String, _ length: Int
  ) throws {
    let index = PackageIndex(
      packageLength: 0, blockLength: 4096, blocks: [], files: [],
      obstacle: String(repeating: letter, count: length))
    #expect(try PackageIndex(encoded: index.encoded) == index)
    #expect(index.obstacle?.hasPrefix(letter) == true)
  }
}
