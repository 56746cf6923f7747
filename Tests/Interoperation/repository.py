"""A repository of the reference implementation, in memory, that a test bends."""

import copy
import datetime

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import (
    DelegatedRole,
    Delegations,
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    SuccinctRoles,
    TargetFile,
    Targets,
    Timestamp,
)
from tuf.api.serialization.json import JSONSerializer
from urllib.parse import quote

SERIALIZER = JSONSerializer()
TOP = ["root", "timestamp", "snapshot", "targets"]


def in_days(days):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    return now + datetime.timedelta(days=days)


class Repository:
    """Signs whatever it is told; `publish` makes the files, which stay until they are replaced."""

    def __init__(self, consistent=True, with_hashes=True, signer=CryptoSigner.generate_ed25519):
        self.with_hashes = with_hashes
        self.files = {}
        self.signers = {role: [signer()] for role in TOP}
        expires = in_days(30)
        self.root = Root(expires=expires, consistent_snapshot=consistent)
        self.timestamp = Timestamp(expires=expires)
        self.snapshot = Snapshot(expires=expires)
        self.targets = Targets(expires=expires)
        self.delegated = {}
        self.root.version = self.timestamp.version = 0
        self.snapshot.version = self.targets.version = 0
        for role in TOP:
            self.root.add_key(self.signers[role][0].public_key, role)
        self.publish_root()
        self.publish()

    def sign(self, signed, signers):
        metadata = Metadata(copy.deepcopy(signed))
        for signer in signers:
            metadata.sign(signer, append=True)
        return metadata.to_bytes(SERIALIZER)

    def publish_root(self, signers=None):
        self.root.version += 1
        data = self.sign(self.root, signers or self.signers["root"])
        self.files[f"metadata/{self.root.version}.root.json"] = data
        return data

    def _put(self, version, role, data):
        name = quote(role, "")
        prefix = f"{version}." if self.root.consistent_snapshot else ""
        self.files[f"metadata/{prefix}{name}.json"] = data

    def _promise(self, version, data):
        import hashlib

        if not self.with_hashes:
            return MetaFile(version)
        return MetaFile(version, len(data), {"sha256": hashlib.sha256(data).hexdigest()})

    def publish(self, roles=("delegated", "targets", "snapshot", "timestamp")):
        if "delegated" in roles:
            for name, role in self.delegated.items():
                data = self.sign(role, self.signers[name])
                self._put(role.version, name, data)
                self.snapshot.meta[f"{name}.json"] = self._promise(role.version, data)
        if "targets" in roles:
            self.targets.version += 1
            data = self.sign(self.targets, self.signers["targets"])
            self._put(self.targets.version, "targets", data)
            self.snapshot.meta["targets.json"] = self._promise(self.targets.version, data)
        if "snapshot" in roles:
            self.snapshot.version += 1
            data = self.sign(self.snapshot, self.signers["snapshot"])
            self._put(self.snapshot.version, "snapshot", data)
            self.timestamp.snapshot_meta = self._promise(self.snapshot.version, data)
        if "timestamp" in roles:
            self.timestamp.version += 1
            data = self.sign(self.timestamp, self.signers["timestamp"])
            self.files["metadata/timestamp.json"] = data

    def add_target(self, name, data, role=None, algorithms=None):
        target = TargetFile.from_data(name, data, algorithms or ["sha256"])
        (self.delegated[role] if role else self.targets).targets[name] = target
        path = name
        if self.root.consistent_snapshot:
            folder, slash, base = name.rpartition("/")
            for digest in target.hashes.values():
                self.files[f"targets/{quote(folder + slash)}{digest}.{quote(base)}"] = data
        else:
            self.files[f"targets/{quote(path)}"] = data

    def delegate(self, delegator, name, **arguments):
        """`arguments` are those of DelegatedRole behind the threshold; the role gets a key of its own."""
        role = self.targets if delegator == "targets" else self.delegated[delegator]
        self.delegated.setdefault(name, Targets(expires=in_days(30)))
        if name not in self.signers:
            self.signers[name] = [CryptoSigner.generate_ed25519()]
        if role.delegations is None:
            role.delegations = Delegations({}, {})
        arguments.setdefault("terminating", False)
        if "path_hash_prefixes" not in arguments:
            arguments.setdefault("paths", ["*"])
        role.delegations.roles[name] = DelegatedRole(name, [], 1, **arguments)
        role.add_key(self.signers[name][0].public_key, name)

    def delegate_to_bins(self, bits, prefix):
        """Every bin has the same key; returns their names."""
        signer = CryptoSigner.generate_ed25519()
        bins = SuccinctRoles([], 1, bits, prefix)
        self.targets.delegations = Delegations({}, succinct_roles=bins)
        self.targets.add_key(signer.public_key)
        for name in bins.get_roles():
            self.delegated[name] = Targets(expires=in_days(30))
            self.signers[name] = [signer]
        return bins
