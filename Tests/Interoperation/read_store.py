"""The reference client of The Update Framework refreshes and downloads from a store that we made.

read_store.py STORE ROOT: prints each target's name and its SHA-256 as it was downloaded and verified.
"""

import hashlib
import inspect
import pathlib
import sys
import tempfile

from tuf.ngclient import Updater

from serving import Server, from_folder


def main(store, root):
    server = Server(from_folder(pathlib.Path(store)))
    with tempfile.TemporaryDirectory() as work:
        metadata, targets = pathlib.Path(work, "metadata"), pathlib.Path(work, "targets")
        metadata.mkdir()
        targets.mkdir()
        first = pathlib.Path(root).read_bytes()
        # Newer versions are handed the root, older ones find it in the folder.
        how = {}
        if "bootstrap" in inspect.signature(Updater.__init__).parameters:
            how["bootstrap"] = first
        else:
            (metadata / "root.json").write_bytes(first)
        updater = Updater(
            str(metadata), f"{server.url}/metadata/", str(targets), f"{server.url}/targets/", **how
        )
        updater.refresh()
        # The reference client has no public list of what there is.
        for name in sorted(updater._trusted_set.targets.targets):
            path = updater.download_target(updater.get_targetinfo(name))
            digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            print(name, digest)
    server.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
