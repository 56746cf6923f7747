import HostedTrust
import HostedTestTraits
import Testing

@Suite struct PathPatternTests {
  @Test(arguments: [
    ("*", "a", true), ("*", "", true), ("*", "a/b", false), ("a/*", "a/b", true),
    ("a/*", "a/b/c", false), ("*.txt", "x.txt", true), ("*.txt", "x.txtx", false),
    ("a?c", "abc", true), ("a?c", "ac", false), ("?", "/", false), ("[a-c]x", "bx", true),
    ("[!a-c]x", "bx", false), ("[!a-c]x", "dx", true), ("[]]", "]", true), ("[ab", "[ab", true),
    ("a*b*c", "aXXbYYc", true), ("a*b*c", "aXXbYY", false), ("A", "a", false), ("a", "/a", false),
    ("a/*", "a/\u{338}b", true), ("*", "a/\u{338}b", false), ("**", "abc", true),
    ("\\*", "\\x", true), ("é", "e\u{301}", false), ("", "", true),
  ])
  func `a pattern matches within components`(_ pattern: String, _ path: String, _ matches: Bool) {
    #expect(PathPattern(pattern).matches(path) == matches)
  }

  @Test func `a pattern with many stars is matched quickly`() {
    let pattern = PathPattern(String(repeating: "a*", count: 1000) + "b")
    #expect(!pattern.matches(String(repeating: "a", count: 4000)))
  }

  @Test(.timeLimit(.hang))
  func `a pattern with many brackets that are not closed is matched quickly`() {
    // So long that it would take an hour if each bracket were searched for its end.
    let pattern = PathPattern("*" + String(repeating: "[", count: 200_000) + "x")
    #expect(!pattern.matches(String(repeating: "[", count: 200_002)))
  }
}
