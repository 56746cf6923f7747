import FoundationEssentials
import HostedModel
import Testing

@Suite("Identifiers of the queue")
struct QueueIdentifierTests {
  @Test(
    arguments: [
      "t-1", "00000000-0000-4000-8000-000000000012-3", "00000000-0000-4000-8000-000000000012", "t",
      "", "-", "-7", "t-", "t-0", "t-01", "t-+1", "t--1", "t-2147483647", "t-2147483648", "é-1",
    ])
  func `a download's identifier keeps its text`(text: String) throws {
    let id = DownloadID(rawValue: text)
    #expect(id.rawValue == text)
    #expect(id.description == text)
    let encoded = try JSONEncoder().encode([id])
    #expect(try JSONDecoder().decode([String].self, from: encoded) == [text])
    #expect(try JSONDecoder().decode([DownloadID].self, from: encoded) == [id])
  }

  @Test func `a download's identifier has that of its transaction`() {
    let id = DownloadID(rawValue: "a-b-12")
    #expect(id == DownloadID(of: "a-b", number: 12))
    #expect(id.transaction == "a-b")
    #expect(DownloadID(rawValue: "a-b").transaction == "a-b")
  }
}
