"""The named data sets: what they are, where their files live, how they are verified."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from hale.data.graph import Split


@dataclass(frozen=True)
class Digest:
    """A fingerprint of a file: SHA-256, a git blob id, or, where neither is published, its size."""

    kind: Literal["sha256", "git", "size"]
    value: str

    def matches(self, data: bytes) -> bool:
        """Whether ``data`` has this fingerprint."""
        return self.of(data) == self.value

    def of(self, data: bytes) -> str:
        """The fingerprint of ``data`` of the same kind."""
        if self.kind == "size":
            return str(len(data))
        if self.kind == "sha256":
            return hashlib.sha256(data).hexdigest()
        # git names a blob by the SHA-1 of a short header and the content: an identity, not security
        header = f"blob {len(data)}\0".encode()
        return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class RemoteFile:
    """One split of a data set: a file, or a member of a tar archive, and its fingerprint."""

    url: str
    digest: Digest
    member: str | None = None

    @property
    def size(self) -> int | None:
        """Its size in bytes, where that is known beforehand."""
        known = self.digest.kind == "size" and self.member is None
        return int(self.digest.value) if known else None


@dataclass(frozen=True)
class Dataset:
    """A named graph. A bundled one has no remote files."""

    name: str
    about: str
    num_entities: int
    num_relations: int
    counts: tuple[int, int, int]  # train, valid, test
    licence: str
    files: dict[Split, RemoteFile]


def _archive(url: str, train: str, valid: str, test: str) -> dict[Split, RemoteFile]:
    digests: dict[Split, str] = {"train": train, "valid": valid, "test": test}
    return {
        split: RemoteFile(url, Digest("sha256", digest), member=f"{split}.txt")
        for split, digest in digests.items()
    }


def _codex(size: str, train: Digest, valid: Digest, test: Digest) -> dict[Split, RemoteFile]:
    home = f"https://raw.githubusercontent.com/tsafavi/codex/master/data/triples/codex-{size}"
    digests: dict[Split, Digest] = {"train": train, "valid": valid, "test": test}
    return {split: RemoteFile(f"{home}/{split}.txt", d) for split, d in digests.items()}


def _sha256(value: str) -> Digest:
    return Digest("sha256", value)


_ALL = (
    Dataset(
        "wordnet",
        "WordNet 3.0, the 3-core of 17 relations, named like dog.n.01; bundled",
        19_693,
        17,
        (42_625, 2_000, 2_000),
        "WordNet 3.0 licence",
        {},
    ),
    Dataset(
        "wn18rr",
        "WordNet without inverse relations (Dettmers et al. 2018)",
        40_943,
        11,
        (86_835, 3_034, 3_134),
        "WordNet 3.0 licence",
        _archive(
            "https://github.com/TimDettmers/ConvE/raw/master/WN18RR.tar.gz",
            "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df",
            "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab",
            "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5",
        ),
    ),
    Dataset(
        "fb15k-237",
        "Freebase without inverse relations (Toutanova and Chen 2015)",
        14_541,
        237,
        (272_115, 17_535, 20_466),
        "CC BY 2.5",
        _archive(
            "https://github.com/TimDettmers/ConvE/raw/master/FB15k-237.tar.gz",
            "6e4c2782169af21e9743f3b1d200886f5d595bf6bc504ec1351720949c5cdfae",
            "cf6309010852f6a8d47a45df830a426415d1ee6f7a3970a8376ff1fb81db4a5c",
            "5711cf41623ceb4eacc50eb6108a3ca6565c7492e3caaf82a3e355cc660d1574",
        ),
    ),
    Dataset(
        "codex-s",
        "Wikidata, small (Safavi and Koutra 2020)",
        2_034,
        42,
        (32_888, 1_827, 1_828),
        "MIT",
        _codex(
            "s",
            _sha256("64f93b7f314f3936a6f65739721429db3f6a7c8f5a1e1104ec3bb544f7434f59"),
            _sha256("3831c0e57daef03c3a18cdd1a72e370b496f696c5218883d35c7d2ab8a6a772c"),
            _sha256("27127fcb34688c4778e88a39ef3c9b540807da846021e9d9685660ac1838aca1"),
        ),
    ),
    Dataset(
        "codex-m",
        "Wikidata, medium (Safavi and Koutra 2020)",
        17_050,
        51,
        (185_584, 10_310, 10_311),
        "MIT",
        _codex(
            "m",
            _sha256("d99c3437ab51690391a26d96976adf6e5494dba7ef6902e77000551bfa566556"),
            _sha256("11c323096367354940846b9ed940c5dabddc1d20a70474222babe7e7fd28b28d"),
            _sha256("0575ce05e4ce915e395bb4f708e8df9547989dd4c8c71407cbfd78c19daffcf7"),
        ),
    ),
    Dataset(
        "codex-l",
        "Wikidata, large (Safavi and Koutra 2020)",
        77_951,
        69,
        (551_193, 30_622, 30_622),
        "MIT",
        _codex(
            "l",
            Digest("git", "be8735738ba4728430922c630f25bf01bcc9eaac"),
            Digest("size", "605471"),
            Digest("size", "605298"),
        ),
    ),
)

CATALOG: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
