"""Memory that there is, read from a system of the test's own, and files that are larger."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from hale.data import room
from hale.data.room import GB, available
from hale.data.sources import read_graph
from hale.errors import InputError


def machine(root: Path, **files: str) -> Path:
    places = {"meminfo": "proc/meminfo", "most": "sys/fs/cgroup/memory.max"}
    places |= {"now": "sys/fs/cgroup/memory.current"}
    places |= {"mapped": "proc/self/statm"}
    for name, text in files.items():
        path = root / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_least_of_machine_and_control_group(tmp_path: Path) -> None:
    assert available(tmp_path) is None  # a system that does not tell
    told = "MemTotal:  2000 kB\nMemFree: 5 kB\nMemAvailable:    1000 kB\n"
    assert available(machine(tmp_path, meminfo=told)) == 1_024_000
    assert available(machine(tmp_path, most="max\n", now="7\n")) == 1_024_000
    assert available(machine(tmp_path, most="1000000\n", now="400000\n")) == 600_000
    assert available(machine(tmp_path, most="1000\n", now="4000\n")) == 0


def test_of_an_address_space_what_is_mapped_is_not_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100 * page, 100 * page))
    assert available(tmp_path) == 100 * page  # a system that does not tell what is mapped
    assert available(machine(tmp_path, mapped="30 20 10 1 0 5 0\n")) == 70 * page
    assert available(machine(tmp_path, mapped="101 20 10 1 0 5 0\n")) == 0
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert available(tmp_path) is None


@pytest.mark.parametrize("name", ["facts.parquet", "facts.nt", "facts.ttl"])
def test_a_file_that_is_read_whole_and_does_not_fit_is_refused_with_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Three gigabytes that take no room on the disk, where two are free."""
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(3 * GB)
    monkeypatch.setattr(room, "available", lambda: 2 * GB)
    with pytest.raises(InputError, match=rf"{name} has 3\.0 GB, 2\.0 GB of memory are free here"):
        read_graph(path)


def test_the_limits_of_the_own_group_and_of_those_above_it_count(tmp_path: Path) -> None:
    """As systemd, Slurm and Kubernetes set them, on a group below the one at the top."""
    told = "MemTotal:  2000 kB\nMemAvailable:    1000 kB\n"
    machine(tmp_path, meminfo=told, most="max\n", now="7\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/jobs/mine\n")
    jobs = tmp_path / "sys/fs/cgroup/jobs"
    (jobs / "mine").mkdir(parents=True)
    (jobs / "mine/memory.max").write_text("max\n")
    assert available(tmp_path) == 1_024_000
    (jobs / "memory.max").write_text("900000\n")
    (jobs / "memory.current").write_text("500000\n")
    assert available(tmp_path) == 400_000
    (jobs / "memory.stat").write_text("anon 100\ninactive_file 300000\nactive_file 50\n")
    assert available(tmp_path) == 700_000, "pages of files can be dropped"


def test_groups_of_version_1(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("5:cpu:/x\n4:memory:/mine\n")
    mine = tmp_path / "sys/fs/cgroup/memory/mine"
    mine.mkdir(parents=True)
    (mine / "memory.limit_in_bytes").write_text("1000\n")
    (mine / "memory.usage_in_bytes").write_text("800\n")
    (mine / "memory.stat").write_text("total_inactive_file 300\n")
    assert available(tmp_path) == 500
