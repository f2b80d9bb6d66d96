"""All views over a run whose answers are known by hand, some of its names made of markup."""

from __future__ import annotations

import asyncio
import html
import itertools
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from hale.answers.discovery import discover
from hale.answers.predictor import predict
from hale.data.sources.labelled import triples_of
from hale.evaluation.calibration import ByQuestions, calibration_of
from hale.evaluation.reliability import Reliability
from hale.runs.file_names import REVIEW
from hale.runs.run import Run
from hale.serve.map.atlas import Atlas
from hale.serve.map.clusters import Cluster, Trait
from hale.serve.map.map_file import Layout
from hale.serve.pages import rendering
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import check_bundle, link, percent, plain
from hale.serve.upgrade import State
from tests.serve.conftest import NAMES, SCRIPT

HTMX = {"HX-Request": "true"}
VIEWS = ("/", "/entity?name=p1", "/ask", "/ask?head=p1&relation=next", "/review", "/run")
EVIL = link("/entity", name=SCRIPT)


@pytest.mark.parametrize("path", [*VIEWS, EVIL, link("/ask", head=SCRIPT, relation="is <b>")])
def test_a_view_has_no_markup_of_names_and_nothing_inline(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "<script>alert" not in answer.text
    assert "<i>label" not in answer.text
    assert "is <b>" not in answer.text
    assert not re.search(r"\son[a-z]+=|\sstyle=|<style|javascript:", answer.text)
    for script in re.findall(r"<script([^>]*)>", answer.text):
        assert 'src="/static/' in script
    assert 'class="skip" href="#main"' in answer.text
    assert '<meta name="viewport"' in answer.text


def test_the_map_before_the_run(browser: TestClient, explorer: Explorer) -> None:
    answer = browser.get("/map/points")
    length = int.from_bytes(answer.content[:4], "little")
    head = json.loads(answer.content[4 : 4 + length])
    xy = np.frombuffer(answer.content[4 + length :], dtype="<f4").reshape(-1, 2)
    # entity i sits at i on a line
    assert xy[:, 0] == pytest.approx(np.linspace(-1, 1, len(NAMES)), abs=1e-6)
    assert head["kind"] == "pca"
    assert head["version"] == browser.get("/map/status").json()["version"]
    answer = browser.get("/map/colours?by=degree")
    length = int.from_bytes(answer.content[:4], "little")
    assert list(answer.content[4 + length :]) == explorer.atlas.painting("degree").colours.tolist()
    told = browser.get("/map/entity?id=1").json()
    assert told == {"id": 1, "name": "p1", "label": "one", "degree": 3}
    assert browser.get("/map/entity?id=10").status_code == 422
    assert browser.get("/map/colours?by=nothing").status_code == 422


def test_a_card_tells_facts_both_ways(browser: TestClient) -> None:
    text = browser.get("/map/card?name=p7").text
    assert 'data-id="7"' in text
    assert "next:" in text  # p7 next p8
    assert "next of" in text  # p6 next p7
    assert browser.get("/map/card?name=nobody").status_code == 404


def test_a_selection_is_listed_and_downloaded(browser: TestClient) -> None:
    ids = np.array([1, 3, 9], dtype="<u4").tobytes()
    text = browser.post("/map/selection", content=ids).text
    assert "3 entities selected" in text
    assert "&lt;i&gt;label" in text
    rows = browser.post("/map/selection.tsv", content=ids).text.splitlines()
    assert rows[0].split("\t") == ["entity", "label", "facts", "cluster", "x", "y"]
    assert rows[1].startswith("p1\tone\t3\t")
    assert rows[2].startswith(f"{SCRIPT}\t<i>label</i>\t")
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("body", "status"), [(b"\0" * 44, 413), (b"\0\0\0", 400), (b"\x0a\0\0\0", 422), (b"", 200)]
)
def test_a_selection_that_is_none(browser: TestClient, body: bytes, status: int) -> None:
    assert browser.post("/map/selection", content=body).status_code == status


def test_names_are_completed(browser: TestClient) -> None:
    text = browser.get("/complete?kind=entity&q=TWO").text
    assert 'data-value="p2"' in text
    assert "two words" in text
    assert "nothing is called" in browser.get("/complete?kind=entity&q=zzz").text
    assert browser.get("/complete?kind=entity&q=").text.strip() == ""
    assert 'data-value="is &lt;b&gt;"' in browser.get("/complete?kind=relation&q=IS").text


def test_known_facts_have_their_split(browser: TestClient) -> None:
    text = browser.get("/entity?name=p2").text
    assert text.count('<span class="tag">valid</span>') == 2  # one -> p2, p2 -> script
    assert "two words" in text
    missing = browser.get("/entity?name=p22")
    assert missing.status_code == 404
    assert "Unknown entity" in missing.text
    assert browser.get("/entity").status_code == 422


def test_predicted_facts_are_the_missing_ones_with_probabilities(browser: TestClient) -> None:
    text = browser.get("/entity/predicted?name=p8", headers=HTMX).text
    assert re.search(r'href="/entity\?name=p9"', text)  # p8 next p9, the fact that is missing
    assert "<meter" in text
    assert 'hx-get="/why?head=p8&amp;relation=next&amp;tail=p9"' in text
    assert 'id="surroundings" hx-swap-oob="true"' in text
    assert 'class="predicted"' in text


def test_neighbours_are_nearest_first(browser: TestClient) -> None:
    text = browser.get("/entity/neighbors?name=p1", headers=HTMX).text
    order = re.findall(r'href="/entity\?name=([^"]+)"', text)
    assert set(order[:2]) == {"p0", "p2"}


def test_an_answer_marks_what_is_known(browser: TestClient) -> None:
    text = browser.get("/ask?head=p8&relation=next", headers=HTMX).text
    first = text.index("/entity?name=p9")
    assert first < text.index('<span class="tag new">new</span>')
    assert "<!doctype" not in text  # a part of the page
    known = browser.get("/ask?head=p6&relation=next", headers=HTMX).text
    assert '<span class="tag">train</span>' in known
    assert '<span class="tag">train</span>' not in (
        browser.get("/ask?head=p6&relation=next&known=drop", headers=HTMX).text
    )
    relations = browser.get("/ask?head=p0&tail=p1", headers=HTMX).text
    assert "<th>relation</th>" in relations


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("head=p1&relation=nexd", "Did you mean &#39;next&#39;?"),
        ("head=p1&relation=next&tail=p2", "Leave one of the three blank"),
        ("head=twin&relation=next", "2 entities are labelled"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    browser: TestClient, asked: str, said: str
) -> None:
    assert said in browser.get(f"/ask?{asked}", headers=HTMX).text


def test_why_tells_rank_and_support(browser: TestClient) -> None:
    text = browser.get("/why?head=p8&relation=next&tail=p9", headers=HTMX).text
    assert re.search(r"rank of the tail</dt><dd>1 of 10", text)
    assert 'href="/entity?name=p7"' in text  # p7 next p8 is the nearest fact of train
    assert "<!doctype" in browser.get("/why?head=p8&relation=next&tail=p9").text
    assert browser.get("/why?head=p8&relation=next").status_code == 422


def queue(browser: TestClient, relation: str) -> str:
    """The review of a relation once its missing facts are found."""
    late = time.monotonic() + 60
    while time.monotonic() < late:
        text = browser.get(link("/review", relation=relation), headers=HTMX).text
        if "Looking through" not in text:
            return text
        time.sleep(0.05)
    raise AssertionError("the search did not end")


def hidden(text: str, name: str) -> str:
    found = re.search(rf'type="hidden" name="{name}" value="([^"]*)"', text)
    assert found is not None
    return found[1]


def test_review_decides_and_undoes(browser: TestClient, folder: Path, run: Run) -> None:
    text = queue(browser, "next")
    fact = {name: html.unescape(hidden(text, name)) for name in ("head", "relation", "tail")}
    missing = [(one.head, "next", one.tail) for one in discover(run, ["next"], k=200)]
    chances = calibration_of(run).probability_of(run, triples_of(missing, run.graph))
    assert tuple(fact.values()) == missing[int(chances.argmax())]
    form = {**fact, "who": "ada", "queue": "next", "decision": "accept"}
    after = browser.post("/review/decide", data=form, headers=HTMX).text
    assert '<strong id="accepted">1</strong>' in after
    both = hidden(text, "head"), hidden(text, "tail")
    assert (hidden(after, "head"), hidden(after, "tail")) != both
    assert len((folder / REVIEW).read_text().splitlines()) == 1
    accepted = browser.get("/review/accepted.tsv")
    assert accepted.text == "head\trelation\ttail\n" + "\t".join(fact.values()) + "\n"
    assert 'filename="accepted.tsv"' in accepted.headers["content-disposition"]
    back = browser.post("/review/undo", data={"who": "ada", "queue": "next"}, headers=HTMX).text
    assert '<strong id="accepted">0</strong>' in back
    assert (hidden(back, "head"), hidden(back, "tail")) == both


def test_a_decision_about_what_is_not_there_is_refused(browser: TestClient, folder: Path) -> None:
    form = {"head": "p8", "relation": "next", "tail": "px", "who": "ada", "decision": "accept"}
    assert browser.post("/review/decide", data=form, headers=HTMX).status_code == 404
    form |= {"tail": "p9", "decision": "maybe"}
    answer = browser.post("/review/decide", data=form, headers=HTMX)
    assert answer.status_code == 422
    assert "maybe" in answer.text
    assert not (folder / REVIEW).exists()


def test_a_foreign_page_cannot_decide(browser: TestClient, folder: Path) -> None:
    form = {"head": "p8", "relation": "next", "tail": "p9", "who": "eve", "decision": "accept"}
    answer = browser.post("/review/decide", data=form, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert not (folder / REVIEW).exists()


def test_an_update_needs_an_accepted_fact(browser: TestClient) -> None:
    answer = browser.post("/review/update", data={"seconds": "5"}, headers=HTMX)
    assert answer.status_code == 422
    assert "No fact is accepted yet" in answer.text
    answer = browser.post("/review/update", data={"seconds": "five"}, headers=HTMX)
    assert "whole number" in answer.text


def test_reliability_is_the_calibrations_own(browser: TestClient, explorer: Explorer) -> None:
    made = explorer.calibration
    assert isinstance(made, ByQuestions)
    # bands by hand: one answer of 0.95, true; two of 0.6 and 0.8, one true; none below a half
    told = Reliability.of(np.array([True, True, False]), np.array([0.95, 0.6, 0.8]))
    explorer.__dict__["_calibration"] = replace(made, reliability=told)
    text = browser.get("/run/reliability", headers=HTMX).text
    found = re.search(r'data-curve="([^"]*)"', text)
    assert found is not None
    curve = json.loads(html.unescape(found[1]))
    assert curve["values"][0] == [0.0, pytest.approx(0.7), 0.95, 1.0]
    assert curve["values"][1] == [None, 0.5, 1.0, None]
    rows = re.findall(r"<tr>(<td>.*?)</tr>", text)
    cells = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in rows]
    assert cells == [
        ["0.9 to 1.0", "1", "0.950", "1.000"],
        ["0.5 to 0.9", "2", "0.700", "0.500"],
        ["0.0 to 0.5", "0", "–", "–"],
    ]
    assert "3 answers shown to validation questions" in text
    explorer.__dict__["_calibration"] = replace(made, reliability=None)
    assert "too few validation facts" in browser.get("/run/reliability", headers=HTMX).text


def test_no_reliability_and_no_probabilities_without_a_calibration(
    browser: TestClient, explorer: Explorer
) -> None:
    explorer.__dict__["_calibration"] = None  # as of a graph without a valid split
    assert "no valid split" in browser.get("/run/reliability", headers=HTMX).text
    assert "No probabilities" in browser.get("/entity/predicted?name=p8", headers=HTMX).text
    assert "No probabilities" in browser.get("/ask?head=p8&relation=next", headers=HTMX).text


@pytest.mark.parametrize(
    "query", [{"head": "p8", "relation": "next"}, {"relation": "next", "tail": "p3"}]
)
def test_probabilities_are_those_of_predict(
    browser: TestClient, run: Run, query: dict[str, str]
) -> None:
    query = {place: SCRIPT if name == "p3" else name for place, name in query.items()}
    wanted = [f"{one.probability:.4f}" for one in predict(run, **query, k=20, above=0.0)]  # type: ignore[arg-type]
    text = browser.get(link("/ask", **query), headers=HTMX).text
    assert re.findall(r'<meter min="0" max="1" value="([0-9.]+)"', text) == wanted != []


@pytest.mark.parametrize(
    "path",
    [
        "/ask?head=p8&relation=next",
        "/entity/predicted?name=p8",
        "/why?head=p8&relation=next&tail=p9",
        "/run/reliability",
    ],
)
def test_it_is_said_what_a_probability_is_against(browser: TestClient, path: str) -> None:
    assert ByQuestions.meaning in browser.get(path, headers=HTMX).text
    assert ByQuestions.meaning in queue(browser, "next")


def test_a_calibration_is_made_once_and_never_where_requests_are_taken(
    browser: TestClient, explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, where = explorer.calibration, []
    del explorer.__dict__["_calibration"]

    def slowly(_run: Run) -> object:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            where.append("a thread")
        else:
            where.append("the loop")
        time.sleep(0.1)
        return made

    monkeypatch.setattr("hale.evaluation.calibration.calibration_of", slowly)
    paths = ("/ask", "/ask?head=p8&relation=next", "/review", "/run/reliability", "/run")
    for path in paths:
        explorer.__dict__.pop("_calibration", None)
        assert browser.get(path).status_code == 200
    queue(browser, "next")
    assert set(where) == {"a thread"}
    where.clear()
    explorer.__dict__.pop("_calibration", None)
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda _: explorer.meaning, range(4))) == {ByQuestions.meaning}
    assert where == ["a thread"]


def test_an_update_that_added_nothing_is_told(browser: TestClient, explorer: Explorer) -> None:
    result = {"run": "odd", "added": 0, "removed": 0, "wall": {}}  # all that hale update says
    explorer.upgrade.state = State("done", seconds=1, facts=1, result=result)
    for path in ("/review", "/review/update"):
        answer = browser.get(path, headers=HTMX)
        assert answer.status_code == 200
        assert "Nothing was added" in answer.text


def test_a_decision_keeps_no_number_that_is_none(browser: TestClient, folder: Path) -> None:
    form = {"head": "p8", "relation": "next", "tail": "p9", "who": "ada", "decision": "accept"}
    form |= {"probability": "nan", "score": "1e999"}
    assert browser.post("/review/decide", data=form, headers=HTMX).status_code == 200
    assert json.loads((folder / REVIEW).read_text()).keys() == {
        *("time", "who", "decision", "head", "relation", "tail", "checksum")
    }


def test_numbers_of_any_length_are_refused(browser: TestClient) -> None:
    long = "9" * 5000  # more digits than Python makes a number of
    assert browser.get(f"/map/entity?id={long}").status_code == 422
    answer = browser.post("/review/update", data={"seconds": long}, headers=HTMX)
    assert answer.status_code == 422
    assert len(answer.text) < 1000


def test_going_back_asks_for_the_whole_page(browser: TestClient) -> None:
    back = {**HTMX, "HX-History-Restore-Request": "true"}
    assert "<!doctype" in browser.get("/ask?head=p8&relation=next", headers=back).text


def test_suggested_relations_are_no_entities(browser: TestClient) -> None:
    text = browser.get("/why?head=p8&relation=nexd&tail=p9").text
    assert "<li>next</li>" in text
    text = browser.get("/entity?name=p22").text
    assert re.search(r'<li><a href="/entity\?name=p2"', text)


def test_the_run_tells_its_settings(browser: TestClient) -> None:
    text = browser.get("/run").text
    assert "<dt>model</dt><dd>transe</dd>" in text
    assert "No evaluation is kept" in text


def test_without_the_bundle_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "STATIC", tmp_path)
    with pytest.raises(Exception, match="make setup"):
        check_bundle()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.05, "5.0 %"), (0.4567, "46 %")),
        *((0.995, "99.5 %"), (0.9996, "> 99.9 %"), (1.0, "100.0 %")),
    ],
)
def test_probabilities_for_people(value: float, text: str) -> None:
    assert percent(value) == text


def test_addresses_carry_any_name() -> None:
    assert link("/entity", name="a/b?c#d&e") == "/entity?name=a%2Fb%3Fc%23d%26e"
    assert link("/ask", head=None) == "/ask"


def test_a_layout_that_is_exchanged_meanwhile_is_not_mixed_with_the_other(
    browser: TestClient, explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks twice would find another: kind and version, clusters and their names."""
    few = explorer.atlas.layout
    count = len(few.xy)
    own = tuple(Cluster(1, 0.0, 0.0, (Trait("own", True, f"c{n}", 1, 1),)) for n in range(count))
    many = Layout("tsne", few.xy + 1, np.arange(count), own)
    turns = itertools.cycle((few, many))
    monkeypatch.setattr(Atlas, "layout", property(lambda _atlas: next(turns)), raising=False)
    for _ in range(2):
        text = browser.get("/map/points").content
        size = int.from_bytes(text[:4], "little")
        head = json.loads(text[4 : 4 + size])
        assert head["version"].partition("-")[0] == head["kind"]
        told = browser.get("/map/status").json()
        kind = {"pca": "principal components", "tsne": "t-SNE"}[told["version"].partition("-")[0]]
        assert f"by {kind}" in told["text"]
        ids = np.arange(count, dtype="<u4").tobytes()
        rows = browser.post("/map/selection.tsv", content=ids).text.splitlines()
        names = [row.split("\t")[3] for row in rows[1:]]
        x = np.array([row.split("\t")[4] for row in rows[1:]], dtype=np.float64)
        assert (x > few.xy[:, 0] + 0.5).tolist() == ["own: c" in name for name in names]


@pytest.mark.parametrize(
    ("value", "text"),
    [(30.00024927098093, "30.0002"), (True, "yes"), (4, "4"), ([], "none"), ([0.5, "x"], "0.5, x")],
)
def test_settings_for_people(value: object, text: str) -> None:
    assert plain(value) == text


def test_a_fact_of_train_is_told_to_be_judged_as_if_hidden(browser: TestClient) -> None:
    for path, told in (
        ("/ask?head=p6&relation=next", True),
        ("/ask?head=p6&relation=next&known=drop", False),
        ("/why?head=p6&relation=next&tail=p7", True),
        ("/why?head=p8&relation=next&tail=p9", False),
    ):
        assert (ByQuestions.of_train in browser.get(path, headers=HTMX).text) == told, path
