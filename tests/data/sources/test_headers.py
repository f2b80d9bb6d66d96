"""What people call columns, and which of them are meant."""

from __future__ import annotations

import pytest

from hale.data.sources.headers import WORDS, find_columns


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("head,relation,tail", (0, 1, 2)),
        ("source,target,type", (0, 2, 1)),
        (":START_ID,:END_ID,:TYPE", (0, 2, 1)),
        ("id:START_ID(Person),since:int,:TYPE,:END_ID(Film)", (0, 2, 3)),
        ("_id,_labels,name,_start,_end,_type", (3, 5, 4)),
        ("Subject ID,Object ID,Predicate", (0, 2, 1)),
        ("subjectId,predicateId,objectId", (0, 1, 2)),
        ("from_id,to_id,relation_id", (0, 2, 1)),
        ("head_id,head_name,relation,tail_name,tail_id", (0, 2, 4)),
        ("head_name,relation,tail_name", (0, 1, 2)),
        ("source_item_id,edge_property_id,target_item_id", (0, 1, 2)),
        ("?s,?p,?o", (0, 1, 2)),
        ("id,node1,label,node2", (1, 2, 3)),  # KGTK
        ("source,metaedge,target", (0, 1, 2)),  # Hetionet
        ("item,property,value", (0, 1, 2)),
        ("source,from,type,to", (1, 2, 3)),  # a pair goes together; source is something else
        ("SRC,DST,REL", (0, 2, 1)),
        ("head,relation,tail,head_label,tail_label,rank,score,probability,known", (0, 1, 2)),
    ],
)
def test_which_column_is_which(header: str, expected: tuple[int, int, int]) -> None:
    found = find_columns(header.split(","), WORDS)
    assert tuple(found[role] for role in ("head", "relation", "tail")) == expected


@pytest.mark.parametrize(
    "line",
    ["person,verb,thing", "a,r,b", "x,r,y", "e1,r,e2", "alice,knows,bob", "node,type,entity"],
)
def test_lines_that_name_no_columns(line: str) -> None:
    assert len(find_columns(line.split(","), WORDS)) < 3


def test_a_very_long_name_says_nothing() -> None:
    names = ["head " + "x" * 1000, "head", "relation", "tail"]
    assert find_columns(names, WORDS) == {"head": 1, "relation": 2, "tail": 3}
