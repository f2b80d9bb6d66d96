"""Preface: how the page of results is to be read."""

from __future__ import annotations

from hale.lab.paper.searches import TRIAL_SECONDS, TRIALS
from hale.lab.paper.significance import DRAWS, FLIPS, LEVEL


def preface(recipe: str) -> str:
    """The paragraphs above the tables."""
    other = "reproduction" if recipe == "auto" else f"reproduction-{recipe}"
    return "\n\n".join(" ".join(part.split()) for part in (*PARTS, _signs(other)))


_TIMES = ", ".join(f"{name} {seconds:g} s" for name, seconds in TRIAL_SECONDS.items())

PARTS = (
    """
    Written by `hale reproduce --render` from the files in `cells/`: no number of ours stands here
    that no file backs; `hale reproduce --status` lists what is missing. Figures are of the test
    split, filtered, in both directions, of the state kept by validation triples.
    """,
    """
    Every system is ranked by the same rules. In MRR, and in all that stands without a word beside
    it, an entity comes last among the answers to a query about itself, for relations of which train
    says so (less than one fact in a hundred joins an entity to itself, [models](../models.md)). `No
    rule` is MRR by scores alone, the protocol of the paper. `By the rule` has the cardinality rule
    beside (MRR / Hits@10), which any system may have whose scores are in nats. Several seeds are
    averaged, ± their standard deviation. `On validation` is MRR of the same state over all
    validation triples.
    """,
    f"""
    The interval is a bootstrap over triples ({DRAWS:,} draws). `HaLE against it` is MRR of HaLE
    with the same model (or, where there is none, of HaLE's row that is best on validation triples;
    in Table 5 and beyond the paper, of the row with all parts) less that of the row, at the same
    share of the time, with p of a test by flipped signs over the same triples ({FLIPS:,} flips),
    by Holm's correction over all rows that meet the same one. Bold is an MRR that is significantly
    above every row that it is compared with (p < {LEVEL:g}). Both interval and test draw triples,
    whose reciprocal ranks are the mean of all seeds: they say how sure a figure is on other
    triples, and nothing of what other seeds would give; that is the ±. Rows that are marked are
    compared with none. What goes beyond the paper was chosen by validation triples and is judged by
    all of them: there interval, test, bold and ± are of MRR on validation, and MRR on test stands
    beside as it came out. AMRI is the adjusted mean rank index: 1 is perfect, 0 is chance.
    """,
    f"""
    Rows of the paper's tables and figures are searched alike, HaLE's too: {TRIALS} trials on
    validation triples, each of the same time ({_TIMES}), from the defaults of their strategy and
    model (`hale reproduce --tune`; src/hale/lab/paper/searched tells what was found). A row without
    such a search has those defaults, one that was searched in other bounds has what was found
    there; both are marked "not searched alike". One that was made with
    other settings, another form of its loss or other rules of ranking than it would be now is
    marked "stale". `HaLE as in the paper` has nothing beyond the paper, its settings from the
    paper's own grid, by as many trials. The recipes of `hale train` have no part in these rows:
    HaLE's were partly found by hand, and by longer searches, which no rival had. What they reach
    stands in the two tables at the end, where HaLE on WN18RR is trained with loops ruled out too
    (--no-loops).
    """,
    """
    The paper's figures (MRR / Hits@10 / Hits@1; Wang et al., WWW 2022) come from a GTX 1070; those
    with a star from models that their authors trained without a limit of time, of more than 256
    dimensions in Table 4. A share beside the time (x 0.25) says that a system had only that part of
    the paper's time; compare systems of the same share. HaLE is compared with rivals of as many
    threads. `Load` is how many processes would have run at the end of a cell, by the system's
    average of 15 minutes: above the threads, others ran beside.
    """,
    """
    The same time is not the same number of steps. HaLE with RotatE, RotE, RotL and AffinE, over
    blocks of entities, has training steps in native code; all other systems, HaLE with TransE and
    DistMult among them, have torch's, with native sums where a loss runs over all entities by
    distance. So part of what a clock shows is the implementation, and not the method: `epochs`
    tells how far each has come, and stands below the curves too.
    """,
)


def _signs(other: str) -> str:
    return f"""
    Where a system has a dagger (†), its entities have a height beside their d numbers; where it has
    a paragraph sign (§), alignment is not squared. A curve that is dotted is of a cell that is
    stale or was not searched alike, as its legend says. By relation and direction, and on seen
    entities only: [{other}-relations.md]({other}-relations.md).
    """
