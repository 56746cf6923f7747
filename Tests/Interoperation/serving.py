"""A web server for one test: answers from a table in memory or from a folder, and remembers requests."""

import http.server
import threading
from urllib.parse import unquote


class Server:
    """Serves what `find(path)` returns; paths are as they came, still percent-encoded."""

    def __init__(self, find):
        outer = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.lstrip("/")
                outer.requests.append(path)
                body = find(path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """A client that has seen enough hangs up."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def take_requests(self):
        taken, self.requests = self.requests, []
        return taken

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def from_folder(root):
    """Finds files below `root`."""

    def find(path):
        file = root / unquote(path)
        return file.read_bytes() if file.is_file() else None

    return find
