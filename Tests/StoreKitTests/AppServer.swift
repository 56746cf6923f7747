import Foundation
import StoreServer
import TestSupport

/// A server that offers one app, number 5.
final class AppServer: Sendable {
  private let folder: TemporaryFolder
  private let server: StoreServer

  var url: String { server.url }

  init() throws {
    folder = try TemporaryFolder()
    var configuration = StoreServer.Configuration()
    configuration.routes["/lookup"] = { request in
      let found = request.location?.parameter("id") == "5"
      let app =
        #"{"trackId":5,"trackName":"App","version":"1.0","bundleId":"com.example.app","#
        + #""trackViewUrl":"https://apps.example.com/app/id5"}"#
      let body = #"{"resultCount":\#(found ? 1 : 0),"results":[\#(found ? app : "")]}"#
      return Answer(200, contentType: "application/json", Array(body.utf8))
    }
    server = try StoreServer(folder: folder.path, configuration: configuration)
    try server.start()
  }

  deinit { server.stop() }
}
