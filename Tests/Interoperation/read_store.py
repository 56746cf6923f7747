"""The reference client of The Update Framework refreshes and downloads from a store that we made.

read_store.py STORE ROOT PRODUCT...: fetches the record of each product, then the archive and the index of each version
that the record names, then the list of receipt keys, if there is one, and the records files of all lists that the
client has fetched. Prints the path and the SHA-256 of each file after the comparison of its length and SHA-256.
"""

import hashlib
import inspect
import json
import pathlib
import sys
import tempfile
import urllib.request
from urllib.parse import quote

from tuf.api.metadata import Metadata
from tuf.ngclient import Updater

from serving import Server, from_folder


class Store:
    """Fetches the files of a store that its records and lists name."""

    def __init__(self, url):
        self.url = url
        # Without the proxies of the environment.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def fetch(self, path, length, sha256):
        """Returns the bytes at `path`, which must have this length and SHA-256, and prints both."""
        with self.opener.open(f"{self.url}/{quote(path)}") as answer:
            data = answer.read()
        found = hashlib.sha256(data).hexdigest()
        if (len(data), found) != (length, sha256):
            sys.exit(f"{path} has {len(data)} bytes and SHA-256 {found} instead of {length} and {sha256}")
        print(path, found)
        return data

    def fetch_contents(self, record):
        """Fetches the archive and the index of each version that `record` names."""
        for content in record.get("contents", []):
            for file in (content["package"], content["index"]):
                self.fetch(file["path"], file["length"], file["sha256"])

    def fetch_records(self, name, signed):
        """Fetches the records file of a list, and compares it with the targets of the list."""
        details = signed.unrecognized_fields.get("catalog")
        if details is None:
            return
        if details["role"] != name:
            sys.exit(f"{name} says that it is {details['role']}")
        file = details["records"]
        data = self.fetch(f"metadata/{file['sha256']}.records.jsonl", file["length"], file["sha256"])
        lines = {hashlib.sha256(line).hexdigest() for line in data.splitlines()}
        products = [target for path, target in signed.targets.items()
                    if path.endswith("/product.json") and "owner" not in (target.custom or {})]
        if lines != {target.hashes["sha256"] for target in products}:
            sys.exit(f"The records file of {name} does not have the records that it lists")


def make_updater(url, root, metadata, targets):
    first = pathlib.Path(root).read_bytes()
    # Newer versions are handed the root, older ones find it in the folder.
    how = {}
    if "bootstrap" in inspect.signature(Updater.__init__).parameters:
        how["bootstrap"] = first
    else:
        (metadata / "root.json").write_bytes(first)
    return Updater(str(metadata), f"{url}/metadata/", str(targets), f"{url}/targets/", **how)


def main(folder, root, *products):
    server = Server(from_folder(pathlib.Path(folder)))
    store = Store(server.url)
    with tempfile.TemporaryDirectory() as work:
        metadata, targets = pathlib.Path(work, "metadata"), pathlib.Path(work, "targets")
        metadata.mkdir()
        targets.mkdir()
        updater = make_updater(server.url, root, metadata, targets)
        updater.refresh()
        for product in products:
            target = updater.get_targetinfo(f"{product}/product.json")
            if target is None:
                sys.exit(f"The store has no record of {product}")
            data = pathlib.Path(updater.download_target(target)).read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            print(f"targets/{product}/{digest}.product.json", digest)
            record = json.loads(data)
            if record["productIdentifier"] != product:
                sys.exit(f"The record of {product} is for {record['productIdentifier']}")
            store.fetch_contents(record)
        keys = updater.get_targetinfo("receipt-keys.json")
        if keys is not None:
            data = pathlib.Path(updater.download_target(keys)).read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            print(f"targets/{digest}.receipt-keys.json", digest)
            if json.loads(data) != keys.custom or not json.loads(data)["keys"]:
                sys.exit("The file of receipt keys differs from its entry")
        # The client keeps each list that it has verified.
        for file in sorted(metadata.glob("*.json")):
            store.fetch_records(file.stem, Metadata.from_file(str(file)).signed)
    server.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
