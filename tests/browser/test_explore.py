"""hale explore as a person uses it, in Debian's chromium; see ``make browser-test``."""

from __future__ import annotations

import io
import itertools
import os
import signal
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from hale.runs.run import load_run
from hale.serve.map.first_sight import first_sight
from hale.serve.map.map_file import Layout, write_map
from hale.serve.map.projection import tsne
from hale.serve.opening import open_browser as open_in_browser
from hale.serve.pages.rendering import STATIC
from hale.serve.review import Review
from tests.browser.conftest import LONG, SCRIPT, Server, many

pytestmark = pytest.mark.browser

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PATIENCE = 60.0

Open = Callable[..., Any]
Serve = Callable[[Path], Server]


# Drags the map round for so many seconds; tells of every frame one in how many points it drew.
PAN = """
const [seconds, done] = arguments;
const surface = document.getElementById("surface"), stage = document.getElementById("stage");
const box = surface.getBoundingClientRect();
const at = (angle) => ({
  pointerId: 1, bubbles: true, clientX: box.left + box.width / 2 + 150 * Math.cos(angle) - 150,
  clientY: box.top + box.height / 2 + 150 * Math.sin(angle),
});
surface.setPointerCapture = () => {};
surface.dispatchEvent(new PointerEvent("pointerdown", at(0)));
const began = performance.now(), every = [], gaps = [];
let last = began;
const step = (now) => {
  every.push(Number(stage.dataset.every));
  gaps.push(now - last);
  last = now;
  const share = (now - began) / 1000 / seconds;
  surface.dispatchEvent(new PointerEvent("pointermove", at(share < 1 ? 2 * Math.PI * share : 0)));
  if (share < 1) requestAnimationFrame(step);
  else {
    surface.dispatchEvent(new PointerEvent("pointerup", at(0)));
    done({ every: every.slice(1), gaps: gaps.slice(1) });
  }
};
requestAnimationFrame(step);
"""


def wait(found: Callable[[], Any], what: str) -> Any:
    late = time.monotonic() + PATIENCE
    while time.monotonic() < late:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE:.0f} s for {what}")


def select(browser: Any, css: str) -> list[Any]:
    from selenium.webdriver.common.by import By

    return list(browser.find_elements(By.CSS_SELECTOR, css))


def one(browser: Any, css: str) -> Any:
    return wait(lambda: select(browser, css), css)[0]


def text(browser: Any, css: str) -> str:
    """The text of an element, or nothing while the page changes under it."""
    from selenium.common.exceptions import StaleElementReferenceException

    try:
        return str(one(browser, css).text)
    except StaleElementReferenceException:
        return ""


def says(browser: Any, css: str, words: str) -> None:
    wait(lambda: words in text(browser, css), f"{words!r} in {css}")


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def drawn(browser: Any) -> None:
    """Wait until the points are on the map."""
    wait(lambda: browser.execute_script("return stage.dataset.painted"), "the points")
    wait(lambda: text(browser, "#map-status") not in ("", "Loading…"), "the status")


def settled(browser: Any) -> None:
    """Wait until a page has all that it asked for."""
    there = "return document.readyState === 'complete' && !document.querySelector('.htmx-request')"
    wait(lambda: browser.execute_script(there), "the page")


def complaints(browser: Any) -> list[str]:
    """What the browser found wrong: scripts that fail, what the policy forbids.

    A question that a newer one replaced is nothing wrong, though htmx writes it down.
    """
    replaced = ('"htmx:afterRequest,', '"htmx:sendAbort,')
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE" or "Content Security Policy" in entry["message"]
        if not any(words in entry["message"] for words in replaced)
    ]


def picture(browser: Any, css: str) -> Any:
    """The pixels of an element (height, width, 3)."""
    import matplotlib.image
    import numpy as np

    image = matplotlib.image.imread(io.BytesIO(one(browser, css).screenshot_as_png))
    return (255 * np.asarray(image)[:, :, :3]).round().astype(np.int64)


def test_from_search_to_entity_to_why(serve: Serve, open_browser: Open, run: Path) -> None:
    """And Ctrl-C ends it in order, though the page is still open."""
    server, browser = serve(run), open_browser()
    browser.get(server.opening)
    assert "token" not in browser.current_url
    drawn(browser)
    box = one(browser, "#find")
    box.send_keys("domestic dog")
    wait(lambda: select(browser, "#find-list [data-value='dog.n.01']"), "the completion")
    press(browser, "\ue015", "\ue007")  # down, Enter
    says(browser, "#panel h2", "dog, domestic dog")
    assert "entity=dog.n.01" in browser.current_url
    one(browser, "#panel a.button").click()
    says(browser, "h1", "dog, domestic dog")
    says(browser, "#known-title ~ table", "canine, canid")
    wait(lambda: select(browser, "#predicted meter"), "predicted facts")
    assert select(browser, "#surroundings line.predicted")
    button = one(browser, "#predicted [data-why]")
    button.click()
    says(browser, "#predicted .why:not(:empty)", "rank of the tail")
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    wait(lambda: not select(browser, "#predicted .why:not(:empty)"), "why to close")
    assert complaints(browser) == []
    assert server.end() == 130


def test_ask(shown: Server, open_browser: Open) -> None:
    server, browser = shown, open_browser()
    browser.get(server.opening)
    browser.get(f"{server.address}/ask")
    one(browser, "#head").send_keys("dog.n.0")
    wait(lambda: select(browser, "#head-list [role='option']"), "completions")
    press(browser, "\ue007")
    one(browser, "#relation").send_keys("hypern")
    wait(lambda: select(browser, "#relation-list [role='option']"), "completions")
    press(browser, "\ue007")
    says(browser, "#answers", "canine, canid")
    wait(lambda: "head=dog.n.01&relation=hypernym" in browser.current_url, "an address to share")
    one(browser, "[name='known']").click()
    wait(lambda: "canine, canid" not in text(browser, "#answers"), "new facts alone")
    browser.back()
    says(browser, "#answers", "canine, canid")
    assert len(select(browser, "header.bar")) == 1  # the whole page, with its form as it was asked
    assert one(browser, "#head").get_attribute("value") == "dog.n.01"
    browser.get(f"{server.address}/ask?head=dog.n.01&relation=hypernimm")
    says(browser, "#answers .error", "Did you mean")
    assert complaints(browser) == []


def test_review_by_keys_survives_a_kill(serve: Serve, open_browser: Open, run: Path) -> None:
    server, browser = serve(run), open_browser()
    browser.get(server.opening)
    browser.get(f"{server.address}/review?relation=similar_to")
    one(browser, "[data-key='a']")
    names = ("accepted", "rejected", "skipped")

    def decide(key: str, *counts: int) -> None:
        press(browser, key)
        for name, count in zip(names, counts, strict=True):
            wait(lambda n=name, c=count: text(browser, f"#{n}") == str(c), f"{name} {count}")

    decide("a", 1, 0, 0)
    decide("r", 1, 1, 0)
    decide("s", 1, 1, 1)
    decide("a", 2, 1, 1)
    fact = text(browser, ".fact")
    decide("u", 1, 1, 1)
    wait(lambda: text(browser, ".fact") != fact, "the fact before")
    decide("a", 2, 1, 1)
    server.end(signal.SIGKILL)
    kept = Review(run)
    assert [len(kept.facts(what)) for what in ("accept", "reject", "skip")] == [2, 1, 1]
    server.start()
    browser.get(server.opening)
    browser.get(f"{server.address}/review?relation=similar_to")
    assert [text(browser, f"#{name}") for name in names] == ["2", "1", "1"]
    one(browser, "[data-key='a']")
    assert text(browser, ".fact") == fact  # what was decided does not come again
    one(browser, "a[href='/review/accepted.tsv']").click()
    file = browser.downloads / "accepted.tsv"
    wait(file.is_file, "the download")
    assert len(file.read_text().splitlines()) == 3


def test_an_update_from_the_page(serve: Serve, open_browser: Open, run: Path) -> None:
    server, browser = serve(run), open_browser()
    browser.get(server.opening)
    browser.get(f"{server.address}/review?relation=similar_to")
    one(browser, "[data-key='a']")
    assert not one(browser, "#upgrade button").is_enabled()
    press(browser, "a")
    wait(lambda: text(browser, "#accepted") == "1", "the decision")
    seconds = one(browser, "#seconds")
    seconds.clear()
    seconds.send_keys("2")
    one(browser, "#upgrade button").click()
    says(browser, "#quality", "MRR")
    rows = [row.text.split() for row in select(browser, "#quality tbody tr")]
    assert all(len(row) >= 3 for row in rows)
    new = load_run(run.parent / "demo-updated")
    assert len(new.graph.train) == len(load_run(run).graph.train) + 1
    assert "demo-updated" in text(browser, "#upgrade code")


@pytest.mark.parametrize("count", [100_000, *([1_000_000] if os.environ.get("HALE_LARGE") else [])])
def test_many_points_are_drawn(
    serve: Serve, open_browser: Open, tmp_path: Path, count: int, record_property: Any
) -> None:
    server, browser = serve(many(tmp_path / "many", count)), open_browser()
    browser.get(server.opening)
    drawn(browser)
    assert browser.execute_script("return stage.dataset.count") == str(count)
    record_property("milliseconds", browser.execute_script("return stage.dataset.painted"))
    print(f"{count:,} points: {browser.execute_script('return stage.dataset.painted')} ms")
    pixels = picture(browser, "#stage")
    middle = pixels[100:-100, 450:-100].reshape(-1, 3)
    background = middle[0]
    inked = (abs(middle - background).sum(axis=1) > 60).mean()
    assert 0.03 < inked < 0.97
    assert len({tuple(pixel) for pixel in middle[::7].tolist()}) > 50  # many colours and edges


def test_outline_and_download(shown: Server, open_browser: Open) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    server, browser = shown, open_browser()
    browser.get(server.opening)
    drawn(browser)
    one(browser, "#lasso").click()
    surface = one(browser, "#surface")
    actions = ActionChains(browser).move_to_element_with_offset(surface, 100, -150).click_and_hold()
    for right, down in ((200, 0), (0, 250), (-250, 0)):
        actions.move_by_offset(right, down)
    actions.release().perform()
    says(browser, "#panel h2", "selected")
    count = int(text(browser, "#panel h2").split()[0].replace(",", ""))
    assert 0 < count < 19_693
    one(browser, "[data-do='download']").click()
    file = browser.downloads / "selection.tsv"
    wait(file.is_file, "the download")
    wait(lambda: len(file.read_text().splitlines()) == count + 1, "all rows")
    one(browser, "#in-view").click()
    says(browser, "#panel h2", "19,693 entities")


def test_the_keyboard_is_enough(shown: Server, open_browser: Open) -> None:
    """From the address to a decision without a pointer."""
    server, browser = shown, open_browser()
    browser.get(server.opening)
    drawn(browser)
    seen = []
    for _ in range(12):
        seen.append(browser.execute_script("return document.activeElement.id"))
        press(browser, "\ue004")  # Tab
    for wanted in ("find", "colour", "lasso", "in-view", "nearer", "whole"):
        assert wanted in seen, seen
    browser.execute_script("surface.focus()")
    before = browser.current_url
    press(browser, "+", "\ue014", "\ue014")
    wait(lambda: browser.current_url != before, "the map to move")
    press(browser, "\ue007")
    wait(lambda: select(browser, "#panel [data-id]"), "the entity in the middle")
    press(browser, "\ue00c")
    wait(lambda: not one(browser, "#panel").is_displayed(), "the panel to close")
    browser.get(f"{server.address}/run")
    press(browser, "\ue004")
    skip = browser.execute_script("return document.activeElement.className")
    assert skip == "skip"
    ring = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(ring) == "solid"
    press(browser, "\ue007")
    press(browser, "/")
    wait(
        lambda: browser.execute_script("return document.activeElement.id") == "find",
        "the search box by its key",
    )
    press(browser, *"everest.n.01")
    wait(lambda: select(browser, "#find-list [role='option']"), "completions")
    press(browser, "\ue007")
    says(browser, "h1", "Everest")


def test_names_of_markup_are_only_names(serve: Serve, open_browser: Open, odd_run: Path) -> None:
    from urllib.parse import quote

    server, browser = serve(odd_run), open_browser()
    browser.get(server.opening)
    drawn(browser)
    one(browser, "#find").send_keys("img src")
    wait(lambda: select(browser, "#find-list [role='option']"), "the completion")
    assert "<b>bold</b>" in text(browser, "#find-list")
    press(browser, "\ue007")
    says(browser, "#panel", "<b>bold</b>")
    evil = quote(SCRIPT, safe="")
    views = (f"/entity?name={evil}", "/ask?head=p29&relation=next%20%3Ci%3E", "/review", "/run")
    for path in (*views, f"/why?head=p29&relation=next%20%3Ci%3E&tail={evil}"):
        browser.get(server.address + path)
        settled(browser)
        assert browser.title.endswith(" · hale"), path
        assert not select(browser, "main b, main i, main img, main script"), path
    browser.get(f"{server.address}/entity?name={evil}")
    says(browser, "h1", "<b>bold</b>")
    assert complaints(browser) == []


FOREIGN = """<!doctype html><title>waiting</title>
<form method="post" action="{address}/review/decide" target="shown">
<input name="head" value="p1"><input name="relation" value="next &lt;i&gt;">
<input name="tail" value="p9"><input name="who" value="eve"><input name="decision" value="accept">
</form><iframe name="shown"></iframe><img src="{address}/review">"""


@pytest.fixture
def foreign() -> Iterator[Callable[[str], str]]:
    """Serves a page of another port of this machine, which nothing forbids anything."""
    servers = []

    def serve_page(text: str) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_args: Any) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve_page
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_foreign_page_cannot_ask(
    serve: Serve, open_browser: Open, odd_run: Path, foreign: Callable[[str], str]
) -> None:
    """Neither by a form nor by a script, though the browser has the cookie of this server."""
    server, browser = serve(odd_run), open_browser()
    browser.get(server.opening)
    drawn(browser)
    fields = {"head": "p1", "relation": "next <i>", "tail": "p9", "who": "ada"}
    ask = (
        "const [address, body, done] = arguments;"
        "fetch(address, {method: 'POST', credentials: 'include', mode: 'no-cors',"
        " headers: {'Content-Type': 'application/x-www-form-urlencoded'}, body})"
        ".then((answer) => done(answer.type + answer.status), () => done('refused'))"
    )
    decide = f"{server.address}/review/decide"
    body = urlencode({**fields, "decision": "reject"})
    assert browser.execute_async_script(ask, decide, body) == "basic200"  # its own page may
    assert [entry.decision for entry in Review(odd_run).entries] == ["reject"]

    browser.get(foreign(FOREIGN.format(address=server.address)))
    # nothing on the page's side stops it; its answer is kept from it (Cross-Origin-Resource-Policy)
    body = urlencode({**fields, "decision": "accept"})
    assert browser.execute_async_script(ask, decide, body) in ("opaque0", "refused")
    submit = (
        "const [done] = arguments;"
        "document.querySelector('iframe').onload = done; document.forms[0].submit()"
    )
    browser.execute_async_script(submit)  # until something, a refusal, is shown
    read = (
        "const [address, done] = arguments;"
        "fetch(address).then(() => done('read'), () => done('no'))"
    )
    assert browser.execute_async_script(read, f"{server.address}/review") == "no"
    assert [entry.decision for entry in Review(odd_run).entries] == ["reject"]
    for headers, status in (({}, 401), ({"Origin": "http://evil.example"}, 403)):
        request = urllib.request.Request(f"{server.address}/review", headers=headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == status
        refused.value.close()


def test_the_browser_comes_in_by_a_private_file(
    serve: Serve, open_browser: Open, odd_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As hale explore starts it: a page of the disk leads here, and the strict cookie holds."""
    server, browser = serve(odd_run), open_browser()
    monkeypatch.setattr(webbrowser, "open", browser.get)
    with open_in_browser(f"{server.opening}&entity=p3", beside=odd_run):
        wait(lambda: browser.current_url == f"{server.address}/?entity=p3", "the map")
        says(browser, "#panel h2", "p3")
        assert "token" not in browser.current_url


def test_a_moving_map_is_thinned_and_whole_at_rest(
    serve: Serve, open_browser: Open, tmp_path: Path
) -> None:
    server, browser = serve(many(tmp_path / "many", 100_000)), open_browser()
    browser.get(server.opening)
    drawn(browser)
    whole = float(wait(lambda: browser.execute_script("return stage.dataset.whole"), "a time"))
    rest = "return stage.dataset.every === '1'"
    wait(lambda: browser.execute_script(rest), "the map at rest")
    seen = browser.execute_async_script(PAN, 1.0)
    thinnest = max(seen["every"])
    if whole > 40:
        assert thinnest > 1
    wait(lambda: browser.execute_script(rest), "the map at rest")


def test_readable_from_phone_to_wall(serve: Serve, open_browser: Open, odd_run: Path) -> None:
    server, browser = serve(odd_run), open_browser(3840, 2160)
    browser.get(server.opening)
    views = ["/", "/entity?name=p3", "/ask?head=p3&relation=next%20%3Ci%3E", "/review", "/run"]
    views += [f"/?entity={LONG}", f"/entity?name={LONG}"]
    views.append(f"/ask?head={LONG}&relation=next%20%3Ci%3E")
    for width, dark in itertools.product((400, 3840), (False, True)):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        for path in views:
            browser.get(server.address + path)
            settled(browser)
            wide, letters, colour = browser.execute_script(
                "const style = getComputedStyle(document.body);"
                "return [document.documentElement.scrollWidth, parseFloat(style.fontSize),"
                " style.backgroundColor]"
            )
            assert wide <= width, f"{path[:40]} is {wide} pixels wide"
            assert 15 <= letters <= 24
            light = sum(int(part) for part in colour.strip("rgb()").split(",")[:3]) > 384
            assert light != dark


def test_page_weight() -> None:
    import gzip

    scripts = [path.read_bytes() for path in STATIC.glob("*.js")]
    assert len(scripts) == 3
    assert sum(map(len, scripts)) <= 600_000
    assert sum(len(gzip.compress(script)) for script in scripts) <= 200_000
    licences = (STATIC / "LICENSES.txt").read_text()
    assert "htmx.org" in licences
    assert "uplot" in licences


def test_pictures_of_the_views(serve: Serve, open_browser: Open, demo: Path) -> None:
    """The five views, for docs/explore.md; written where HALE_PICTURES is set."""
    wanted = bool(os.environ.get("HALE_PICTURES"))
    seen = first_sight(demo)
    if wanted and not (demo / "map.parquet").is_file():
        write_map(demo, seen.graph, Layout.of("tsne", tsne(seen.places), seen.graph), seen.weights)
    server, browser = serve(demo), open_browser(1280, 860)
    browser.get(server.opening)
    drawn(browser)
    views = {
        "map": ("/", "#legend li"),
        "entity": ("/entity?name=everest.n.01", "#predicted meter"),
        "ask": ("/ask?relation=part_meronym&tail=everest.n.01", "#answers meter"),
        "review": ("/review?relation=instance_hypernym", ".why dl"),
        "run": ("/run", "[data-curve] canvas"),
    }
    for name, (path, there) in views.items():
        browser.get(server.address + path)
        one(browser, there)
        if name == "ask":
            one(browser, "#answers tbody:nth-of-type(2) [data-why]").click()
            one(browser, "#answers .why dl")
        settled(browser)
        assert complaints(browser) == [], name
        if wanted:
            time.sleep(1.5)  # what moves comes to rest
            shot = browser.get_screenshot_as_png()
            (IMAGES / f"explore-{name}.png").write_bytes(compressed(shot))


def compressed(png: bytes) -> bytes:
    """A picture of at most 128 colours: what a page of flat colours needs."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    small = io.BytesIO()
    image.quantize(128, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()
