"""Preface: how the page of results is to be read."""

from __future__ import annotations

from hale.lab.paper.searches import SAMPLE, THREADS, TRIAL_SECONDS, TRIALS
from hale.lab.paper.significance import DRAWS, FLIPS, LEVEL


def preface() -> str:
    """The paragraphs above the tables."""
    return "\n\n".join(" ".join(part.split()) for part in PARTS)


_TIMES = ", ".join(f"{name} {seconds:g} s" for name, seconds in TRIAL_SECONDS.items())
_THREADS = "one thread" if THREADS == 1 else f"{THREADS} threads"

PARTS = (
    """
    Written by `hale reproduce --render` from the files in `cells/`: no number of ours stands here
    that no file backs; `hale reproduce --status` lists what is missing. Figures are of the test
    split, filtered, in both directions, of the state kept by validation triples. The page has the
    cells of the plan, at the shares of the time and with the seeds that it names, and no others.
    """,
    """
    Every cell is ranked three times, by the same rules for every system. In the paper's tables MRR,
    Hits, mean rank, AMRI, interval, test and bold are by scores alone, which is the protocol of the
    paper; two columns have MRR / Hits@10 of the others. `Head ruled out`: an entity comes last
    among the answers to a query about itself, for relations of which train says so (less than one
    fact in a hundred joins an entity to itself, [models](../models.md)). `By the rule`: the
    cardinality rule beside that, which any system may have whose scores are in nats. Searches and
    training judge these rows by scores alone as well. In the two tables beyond the paper the head
    is ruled out in all that stands first, and scores alone stand beside: there the recipes train
    with the head ruled out where validation agrees (--no-loops), and `hale evaluate` ranks a run
    by the cardinality rule besides where its recipe has it. `On validation` is MRR of the same
    state over all validation triples, by the ranks that stand first.
    Figure 3 has Hits@10 by scores alone too, but of the sample of validation triples that training
    ranked on its way. Several seeds are averaged, ± their standard deviation.
    """,
    f"""
    The interval is a bootstrap over triples ({DRAWS:,} draws). `HaLE against it` is MRR of HaLE
    with the same model (or, where there is none, of HaLE's row that is best on validation triples;
    in Table 5 and beyond the paper, of the row with all parts) less that of the row, at the same
    share of the time, with p of a test by flipped signs over the same triples ({FLIPS:,} flips), by
    Holm's correction over all such tests of a table on one data set at one share. Both interval and
    test draw triples, whose reciprocal ranks are the mean of all seeds: they say how sure a figure
    is on other triples, and nothing of what other seeds would give; that is the ±.
    """,
    f"""
    An MRR is bold where nothing is left to doubt. All rows and seeds of the plan are there. HaLE
    and all its rivals have met, one of another strategy among them, and nothing is wrong with any.
    It won against whom it met: p < {LEVEL:g}, and a gain of more than twice the spread over seeds,
    the largest that is known of the table on that data set, or on any; where none is known nothing
    is bold. And no row of the same table, data set and share is above it (p < {LEVEL:g},
    uncorrected, which takes bold away the sooner). Rows that are marked are compared with none.
    """,
    """
    What goes beyond the paper is judged by all validation triples, with the head ruled out: there
    interval, test and ± are of MRR on validation, and MRR on test stands beside as it came out. The
    settings "as tuned" were chosen on these very triples, so p is descriptive there, no test of
    anything: it is too small, and the gain too large, in favour of what is tuned and against what
    was left out. Nothing is bold. AMRI is the adjusted mean rank index: 1 is perfect, 0 is chance.
    """,
    f"""
    Rows of the paper's tables and figures are searched alike, HaLE's too: {TRIALS} trials of the
    same time ({_TIMES}) on {_THREADS}, judged by the same {SAMPLE:,} validation
    triples or all that there are (`hale reproduce --tune`; src/hale/lab/paper/searched tells what
    was found). The first is where the strategy begins with the model, the next have the settings of
    the strategy's authors where they differ, as far as the space reaches (it has no double
    negatives, and no constant rate); a few are steps from the best so far, and the rest are drawn.
    Rows that take a part from HaLE have the settings of the row with all parts, but for
    lambda and the learning rate, which are searched again by as many trials. As many trials are no
    equal start: where HaLE begins was found by hand on WN18RR, as hale's defaults were, before
    there were searches. `HaLE as in the paper` has nothing beyond the paper, its settings from the
    paper's own grid, by as many trials. `SamNeg, KGEmb's settings` has those of
    the code of SamNeg's authors at d = 32, unsearched: short trials may miss what pays in long
    runs. KGEmb has no RotL, and on FB15k-237 settings for RotH alone: there RotE and RotL have
    RotH's, and RotL has RotE's on WN18RR. The
    recipes of `hale train` have no part in these rows: HaLE's were partly found by hand, and by
    longer searches, which no rival had. What they reach stands in the two tables at the end.
    """,
    """
    What is wrong with a row stands beside its name. "Stale": made with other settings, another form
    of its loss or its model, or other rules of ranking than it would be now. "Not checked": its
    data set was not at hand to tell. "Not searched alike": without such a search, so with the
    defaults, or with what a search in other bounds found. "Changed code": the working tree differed
    from its commit. "Busy machine": training had less than nine tenths of its threads' time;
    "searched on a busy machine": a trial of its search had. `Share` is what training had of them,
    where it is known: cells that were trained in one go keep it, and searches of late. `Load` is
    how many processes would have run at the end of a cell, by the system's average of 15 minutes:
    above the threads, others ran beside. HaLE is compared with rivals of as many threads.
    """,
    """
    The paper's figures (MRR / Hits@10 / Hits@1; Wang et al., WWW 2022) come from a GTX 1070; those
    with a star from models that their authors trained without a limit of time, of more than 256
    dimensions in Table 4. A share beside the time (x 0.25) says that a system had only that part of
    the paper's time; compare systems of the same share.
    """,
    """
    The same time is not the same number of steps. HaLE with RotatE, RotE, RotL and AffinE, over
    blocks of entities, has training steps in native code; all other systems, HaLE with TransE and
    DistMult among them, have torch's, with native sums where a loss runs over all entities by
    distance. So part of what a clock shows is the implementation, and not the method: `epochs`
    tells how far each has come, and stands below the curves too.
    """,
    """
    Where a system has a dagger (†), its entities have a height beside their d numbers; where it has
    a paragraph sign (§), alignment is not squared. A curve that is dotted is of a cell with which
    something is wrong, as its legend says. By relation and direction, and on seen entities only:
    [reproduction-relations.md](reproduction-relations.md).
    """,
)
