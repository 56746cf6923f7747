"""tuf-client with folders of its own and a server, and checks; for client_cases.py."""

import glob
import os
import pathlib
import subprocess
import sys
import tempfile

from tuf.api.metadata import Metadata

from serving import Server

PROGRAM = sys.argv[1]


class Client:
    """tuf-client with folders of its own, and a server for one repository."""

    def __init__(self, repository, trusted_root=None):
        self.repository = repository
        self.server = Server(lambda path: repository.files.get(path))
        self.work = tempfile.TemporaryDirectory()
        self.metadata = pathlib.Path(self.work.name, "metadata")
        self.targets = pathlib.Path(self.work.name, "targets")
        root = pathlib.Path(self.work.name, "root.json")
        root.write_bytes(trusted_root or repository.files["metadata/1.root.json"])
        self.init_status = self.run("init", str(root))

    def run(self, *words, clock=None):
        environment = dict(os.environ)
        if clock is not None:
            environment |= {"LD_PRELOAD": libfaketime(), "FAKETIME": f"{clock:+d}d"}
        done = subprocess.run(
            [PROGRAM, "--metadata-dir", self.metadata, *words],
            capture_output=True, text=True, env=environment,
        )
        if done.returncode not in (0, 1):
            print(f"tuf-client ended with {done.returncode}: {done.stderr}")
        return done.returncode

    def refresh(self, **how):
        return self.run("--metadata-url", f"{self.server.url}/metadata", "refresh", **how)

    def download(self, *names, **how):
        wanted = [word for name in names for word in ("--target-name", name)]
        return self.run(
            "download", "--target-dir", self.targets, *wanted,
            "--metadata-url", f"{self.server.url}/metadata/",
            "--target-base-url", f"{self.server.url}/targets", **how,
        )

    def version(self, role):
        file = self.metadata / f"{role}.json"
        return Metadata.from_file(str(file)).signed.version if file.exists() else None

    def downloaded(self):
        return sorted(file.read_bytes() for file in self.targets.glob("*") if file.is_file())

    def requests(self):
        return self.server.take_requests()


def libfaketime():
    import libfaketime as package

    found = glob.glob(f"{pathlib.Path(package.__file__).parent}/**/libfaketime.so*", recursive=True)
    return found[0]


def check(condition, what=""):
    if not condition:
        raise AssertionError(what)


def equal(found, wanted):
    check(found == wanted, f"{found!r} instead of {wanted!r}")
