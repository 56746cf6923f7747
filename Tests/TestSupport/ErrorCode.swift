package import HostedModel

/// Returns the code of the `ContentError` that `body` throws; nil for no error or another one.
package func code(_ body: () throws -> some Any) -> ContentError.Code? {
  do {
    _ = try body()
    return nil
  } catch { return (error as? ContentError)?.code }
}
