"""Files of tensors: what the safetensors library writes and reads, without a second copy."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import tracemalloc
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save, save_file
from torch import Tensor

from hale.errors import RunError
from hale.runs import tensor_file
from hale.runs.tensor_file import DTYPES, check_finite, read_tensor_file, write_tensor_file


def examples() -> dict[str, Tensor]:
    """Of every dtype a matrix, a number and nothing; some that do not lie in order."""
    found: dict[str, Tensor] = {}
    for number, dtype in enumerate(DTYPES):
        name = str(dtype).removeprefix("torch.")
        values = torch.arange(-7, 8).reshape(3, 5) * (number + 1)
        found[f"{name} matrix"] = values.to(dtype)
        found[f"{name} number"] = torch.tensor(1).to(dtype)
        found[f"{name} nothing"] = torch.empty(0, 4, dtype=dtype)
    found["turned"] = torch.arange(12.0).reshape(3, 4).T
    found["every other"] = torch.arange(10)[::2]
    found["repeated"] = torch.tensor([[1.5]]).expand(4, 3)
    found['é "quoted"'] = torch.nn.Parameter(torch.tensor([0.1, float("nan"), -0.0]))
    return found


@pytest.mark.parametrize("part", [1, 16, 1 << 24])
def test_the_file_is_that_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(tensor_file, "PART", part)
    tensors, about = examples(), {"step": 3, "what": "é"}
    write_tensor_file(tmp_path / "x", tensors, about)
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    assert (tmp_path / "x").read_bytes() == save(plain, metadata={"about": json.dumps(about)})
    with safe_open(tmp_path / "x", framework="pt") as file:
        assert set(file.keys()) == set(tensors)
        for name, tensor in tensors.items():
            back = file.get_tensor(name)
            assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
            assert torch.equal(
                back.reshape(-1).view(torch.uint8),
                tensor.detach().contiguous().reshape(-1).view(torch.uint8),
            )


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_tensor_file(tmp_path / "x", {"a": torch.tensor([[1, 2]])}, {"step": [1]})
    tensors, about = read_tensor_file(tmp_path / "x")
    assert ({name: t.tolist() for name, t in tensors.items()}, about) == (
        {"a": [[1, 2]]},
        {"step": [1]},
    )
    write_tensor_file(tmp_path / "x", {}, {})
    assert read_tensor_file(tmp_path / "x") == ({}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_no_second_copy_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of bytes, which tracemalloc sees, nor of a tensor that lies as it is written."""
    large = torch.arange(2_000_000, dtype=torch.float32).reshape(1000, 2000)
    usual = Tensor.contiguous
    copied: list[int] = []

    def watched(self: Tensor) -> Tensor:
        found = usual(self)
        copied.append(found.nbytes if found.data_ptr() != self.data_ptr() else 0)
        return found

    monkeypatch.setattr(Tensor, "contiguous", watched)
    monkeypatch.setattr(tensor_file, "PART", 1 << 16)
    tracemalloc.start()
    write_tensor_file(tmp_path / "x", {"a": large}, {})
    assert set(copied) == {0}
    write_tensor_file(tmp_path / "y", {"a": large.T}, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < max(copied) <= 1 << 16
    assert peak < 1_000_000  # of 8 MB


def test_a_file_with_an_owner_is_checked(tmp_path: Path) -> None:
    """The checksum is of the header, zeros in its own place, and of the bytes behind it."""
    tensors = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor([1, 2])}
    write_tensor_file(tmp_path / "x", tensors, {"step": 1}, owner="me")
    with safe_open(tmp_path / "x", framework="pt") as file:
        metadata = file.metadata()
    numbers = struct.pack("<2q", 1, 2) + struct.pack("<6f", 0, 3, 1, 4, 2, 5)
    header = (tmp_path / "x").read_bytes()[8 : -len(numbers)]
    blank = header.replace(metadata["whole"].encode(), b"0" * 64)
    assert blank != header
    assert metadata["whole"] == hashlib.sha256(blank + numbers).hexdigest()
    assert (tmp_path / "x").read_bytes().endswith(numbers)
    found, about = read_tensor_file(tmp_path / "x", owner="me")
    assert (found["a"].tolist(), about) == (tensors["a"].tolist(), {"step": 1})
    assert read_tensor_file(tmp_path / "x")[1] == {"step": 1}  # whoever does not ask
    with pytest.raises(ValueError, match="it has the id me, this run you"):
        read_tensor_file(tmp_path / "x", owner="you")
    whole = (tmp_path / "x").read_bytes()
    for one, other in (
        (numbers, numbers[::-1]),
        (b'step\\": 1', b'step\\": 2'),
        (b"whole", b"whale"),
    ):
        assert one in whole
        (tmp_path / "x").write_bytes(whole.replace(one, other))
        with pytest.raises(ValueError, match="checksum differs"):
            read_tensor_file(tmp_path / "x", owner="me")


def test_a_file_of_an_earlier_version_has_a_checksum_of_its_numbers(tmp_path: Path) -> None:
    numbers = torch.tensor([1.0, 2.0])
    digest = hashlib.sha256(struct.pack("<2f", 1, 2)).hexdigest()
    metadata = {"about": "{}", "owner": "me", "sha256": digest}
    save_file({"a": numbers}, tmp_path / "x", metadata)
    assert torch.equal(read_tensor_file(tmp_path / "x", owner="me")[0]["a"], numbers)
    save_file({"a": numbers + 1}, tmp_path / "x", metadata)
    with pytest.raises(ValueError, match="checksum differs"):
        read_tensor_file(tmp_path / "x", owner="me")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_told_by_name(number: float) -> None:
    large = torch.tensor([3e38, 3e38])  # finite, though their sum is not
    check_finite({"large": large, "whole": torch.tensor([1, 2])})
    with pytest.raises(ValueError, match="turn has 1 numbers that are NaN or infinite"):
        check_finite({"large": large, "turn": torch.tensor([[0.0, number]])})


def test_some_rows_are_read_alone(tmp_path: Path) -> None:
    """The owner is checked; the checksum, which is of all bytes, is not."""
    rows = torch.arange(12.0).view(6, 2)
    path = tmp_path / "rows.safetensors"
    write_tensor_file(path, {"entity": rows, "turn": rows[:2]}, {"step": 3}, owner="me")
    found, about = read_tensor_file(path, owner="me", rows={"entity": slice(2, 5)})
    assert torch.equal(found["entity"], rows[2:5])
    assert torch.equal(found["turn"], rows[:2])
    assert about == {"step": 3}
    with pytest.raises(ValueError, match="another run"):
        read_tensor_file(path, owner="you", rows={"entity": slice(2, 5)})


def test_tensors_that_do_not_fit_are_refused_with_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = torch.zeros(1000, 8)  # 32,000 bytes
    write_tensor_file(tmp_path / "x", {"a": numbers, "b": torch.zeros(10)}, {})
    monkeypatch.setattr(tensor_file, "available", lambda: 32_040)
    assert len(read_tensor_file(tmp_path / "x")[0]) == 2
    monkeypatch.setattr(tensor_file, "available", lambda: 32_039)
    with pytest.raises(RunError, match=r"x holds 0\.0 GB, 0\.0 GB of memory are free here: ask on"):
        read_tensor_file(tmp_path / "x")
    some = {"a": slice(0, 500)}  # of which a rank reads half
    assert len(read_tensor_file(tmp_path / "x", rows=some)[0]["a"]) == 500
    monkeypatch.setattr(tensor_file, "available", lambda: 16_039)
    with pytest.raises(RunError, match="holds"):
        read_tensor_file(tmp_path / "x", rows=some)
