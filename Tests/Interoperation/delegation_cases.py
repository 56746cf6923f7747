"""Delegated roles; for client_cases.py."""

import os
from urllib.parse import quote

from securesystemslib.signer import CryptoSigner

from repository import Repository, in_days
from tuf_client import Client, equal


def walk(edges, order, target="missing"):
    repository = Repository()
    for edge in edges:
        delegator, name, *how = edge
        repository.delegate(delegator, name, **(how[0] if how else {}))
    repository.publish()
    client = Client(repository)
    equal(client.download(target), 1)
    equal(
        [path.split("/", 1)[1] for path in client.requests()[4:]],
        [f"1.{quote(name, '')}.json" for name in order],
    )
    return client


def case_the_order_of_delegations():
    last = {"terminating": True}
    walk([("targets", "A"), ("targets", "B"), ("A", "C"), ("C", "D")], "ACDB")
    walk([("targets", "A"), ("targets", "B"), ("A", "C", last), ("A", "E"), ("C", "D")], "ACD")
    walk([("targets", "A"), ("A", "B"), ("B", "A"), ("B", "C")], "ABC")
    walk([("targets", "A"), ("targets", "B"), ("B", "C"), ("A", "C")], "ACB")
    walk([("targets", "A", {"paths": ["*.py"]}), ("targets", "B")], "B")
    walk([("targets", "A", {"paths": ["*/*"]}), ("targets", "B", {"paths": ["?issing"]})], "B")
    for name in ("?", "#", "/delegated", "../delegated"):
        client = walk([("targets", name)], [name])
        equal(len(os.listdir(client.metadata)), 5)


def case_targets_of_delegated_roles():
    repository = Repository()
    repository.delegate("targets", "docs", paths=["*.md", "doc/*"])
    repository.delegate("targets", "releases", paths=["releases/*/*"])
    repository.delegate("releases", "x", paths=["releases/x/*"])
    repository.delegate("releases", "zips", paths=["releases/y/*.zip"])
    names = {"README.md": "docs", "releases/x/1": "x", "releases/y/1.zip": "zips"}
    for name, role in names.items():
        repository.add_target(name, name.encode(), role)
    repository.add_target("releases/z/1.zip", b"not delegated", "zips")
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)
    equal(client.downloaded(), sorted(name.encode() for name in names))
    equal(client.download("releases/z/1.zip"), 1)


def case_hash_bins_and_prefixes():
    repository = Repository()
    bins = repository.delegate_to_bins(5, "bin")
    names = [f"file {number}" for number in range(10)]
    for name in names:
        repository.add_target(name, name.encode(), bins.get_role_for_target(name))
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)
    equal(client.downloaded(), sorted(name.encode() for name in names))

    repository = Repository()
    for digits in ("01234567", "89abcdef"):
        repository.delegate("targets", digits, path_hash_prefixes=list(digits))
    import hashlib

    for name in names:
        first = hashlib.sha256(name.encode()).hexdigest()[0]
        repository.add_target(name, name.encode(), "01234567" if first < "8" else "89abcdef")
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)


def case_a_delegated_role_that_is_expired_or_wrongly_signed():
    repository = Repository()
    repository.delegate("targets", "A")
    repository.add_target("one", b"1", "A")
    repository.delegated["A"].expires = in_days(-1)
    repository.publish()
    client = Client(repository)
    equal(client.refresh(), 0)
    equal(client.download("one"), 1)
    equal(len(os.listdir(client.metadata)), 4)
    repository.delegated["A"].expires = in_days(5)
    repository.delegated["A"].version = 2
    signers, repository.signers["A"] = repository.signers["A"], [CryptoSigner.generate_ed25519()]
    repository.publish()
    equal(client.download("one"), 1)
    repository.signers["A"] = signers
    repository.delegated["A"].version = 3
    repository.publish()
    equal(client.download("one"), 0)


def case_a_kept_role_is_checked_against_its_new_delegator():
    repository = Repository()
    repository.delegate("targets", "A")
    repository.add_target("one", b"1", "A")
    repository.add_target("two", b"2", "A")
    repository.publish()
    client = Client(repository)
    equal(client.download("one"), 0)
    old = repository.signers["A"]
    repository.targets.delegations.roles["A"].keyids.clear()
    new = CryptoSigner.generate_ed25519()
    repository.targets.add_key(new.public_key, "A")
    repository.publish(["targets", "snapshot", "timestamp"])
    equal(client.download("two"), 1)
    repository.signers["A"] = [new]
    repository.publish()
    equal(client.download("two"), 0)
