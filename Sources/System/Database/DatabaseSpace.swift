import HostedModel
package import HostedFileIO

extension Directory {
  /// Calls `body`, which writes a database in this folder.
  ///
  /// If space is missing, the error says how much is free.
  package func explainingSpace<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as ContentError where error.code == .diskFull {
      guard let free = try? availableBytes() else { throw error }
      // One page and its header in the log is the minimum. Only SQLite knows the actual number.
      throw ContentError(
        .diskFull, "\(error.message): it needs at least 8192 bytes more, where \(free) are free",
        remedy: error.remedy, subject: error.subject, cause: error.cause)
    }
  }
}
