"""Opens the HTML that eosim writes in headless Chromium, steps through it, and takes pictures.

    python3 crates/report/tests/browser/check.py [--eosim target/release/eosim] [--pictures FOLDER]

Makes a failing run, its timeline, its explanation and a report of its sweep; asserts that the pages
load without errors and without the network, that keys, search and filters work, that the anomaly is
found, and that text can be read in order. Pictures are taken in both colour schemes.

Needs Chromium (on PATH, or CHROMIUM=path) and `pip install playwright`; without them it says so and
ends with 77, which test harnesses take for skipped.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def browser_path():
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or skip("no Chromium is installed")


def eosim(binary, folder, *words, ends=(0,)):
    done = subprocess.run([binary, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in ends, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pages(binary, folder):
    """The pages by name: of a short failure, of a long one, of a sweep."""
    short = ROOT / "scenarios/fencing/zombie-fencing.json"
    words = ("sweep", str(short), "--defect", "leader.marker.accept_equal_epoch", "--count", "3000")
    eosim(binary, folder, *words, "--max-fail", "1", ends=(10,))
    made = {"report": eosim(binary, folder, "report", "latest", "--as", "html")}
    made["timeline"] = next(folder.glob("sim-runs/latest/failures/*/timeline.html")).read_text()
    made["explain"] = eosim(binary, folder, "explain", "latest", "--as", "html", ends=(10,))
    long = ROOT / "scenarios/transactions/mixed.json"
    words = ("sweep", str(long), "--defect", "leader.index.drop_abort_entry", "--count", "200")
    eosim(binary, folder, *words, "--max-fail", "1", ends=(10,))
    made["timeline-long"] = next(folder.glob("sim-runs/latest/failures/*/timeline.html")).read_text()
    return made


def chosen(page):
    return page.evaluate("document.querySelector('#rows li.now').textContent")


def step(page):
    return page.evaluate("stepOf[now]")


def check_timeline(page):
    """Goes through a timeline with keys, as a user would."""
    assert page.evaluate("rows[now][FLAGS] & BROKEN"), "it opens at the broken promise"
    broken = step(page)
    page.keyboard.press("ArrowLeft")
    assert step(page) < broken, "a step back"
    page.keyboard.press("ArrowRight")
    assert step(page) == broken, "a step forward"
    page.keyboard.press("Home")
    first = chosen(page)
    for key in ("ArrowDown", "j", "l", "ArrowRight", "PageDown", "k", "ArrowUp", "h"):
        page.keyboard.press(key)
    assert chosen(page) != first, "it moves"
    assert page.evaluate("document.activeElement === items[now]"), "the focus goes with it"
    page.keyboard.press("a")
    assert step(page) == broken, "back at the broken promise"
    page.keyboard.press("/")
    page.keyboard.type("endtxn")
    assert "found" in page.inner_text("#found") and page.inner_text("#found") != "none found"
    page.keyboard.press("Enter")
    assert "endtxn" in chosen(page).lower(), "a hit is chosen"
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    concerned = page.evaluate("shown.length")
    page.keyboard.press("c")
    assert 0 < concerned < page.evaluate("shown.length"), "a part concerns the promise"
    page.keyboard.press("r")
    page.keyboard.press("r")
    page.keyboard.press("s")
    assert not page.is_visible("#state"), "the state can be put away"
    page.keyboard.press("s")
    page.keyboard.press("?")
    assert page.is_visible("#keys"), "keys are explained"
    page.keyboard.press("?")
    page.select_option("#actor", index=1)
    page.select_option("#actor", index=0)
    check_state(page)
    page.keyboard.press("a")


def check_state(page):
    """What the state says at the end is what applying everything from the beginning gives."""
    read = "go(rows.length - 1, false); document.querySelector('#state').textContent"
    straight = page.evaluate(f"go(0, false); {read}")
    page.evaluate("for (let at = 0; at < rows.length; at += 1) if (!items[at].hidden) advance(stepOf[at])")
    assert page.evaluate(read) == straight, "the way to a state does not matter"
    page.evaluate("go(0, false)")
    assert page.evaluate(read) == straight, "nor does going back"


def check_reading(page):
    """Without scripts the lines are there, in order, and times never go back."""
    times = page.evaluate("[...document.querySelectorAll('#rows .t')].map(t => Number(t.textContent))")
    assert times == sorted(times) and len(times) > 20, "lines in order"
    assert page.evaluate("document.documentElement.lang") == "en"
    for element in page.query_selector_all("nav button, nav input, nav select, #slider"):
        name = element.evaluate("e => e.textContent || e.ariaLabel || e.labels?.[0]?.textContent")
        assert name and name.strip(), "every control has a name"


def visit(browser, name, path, folder, scheme):
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    complaints = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith("file:") else complaints.append(asked.url))
    page.goto(path.as_uri())
    if name.startswith("timeline"):
        check_reading(page)
        check_timeline(page)
    if folder:
        page.screenshot(path=folder / f"{name}-{scheme}.png")
    if name == "timeline" and folder:
        page.set_viewport_size({"width": 800, "height": 1000})
        page.screenshot(path=folder / f"{name}-narrow-{scheme}.png")
    assert not complaints, f"{name} in {scheme}: {complaints}"
    page.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--eosim", default=str(ROOT / "target/release/eosim"))
    arguments.add_argument("--pictures", type=pathlib.Path, help="a folder for pictures")
    wanted = arguments.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip("playwright is not installed (pip install playwright)")
    path = browser_path()
    binary = str(pathlib.Path(wanted.eosim).resolve())
    if wanted.pictures:
        wanted.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        folder = pathlib.Path(folder)
        made = pages(binary, folder)
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, text in made.items():
            file = folder / f"{name}.html"
            file.write_text(text)
            assert len(text) < 4_000_000, f"{name} has {len(text)} bytes"
            for scheme in ("light", "dark"):
                visit(browser, name, file, wanted.pictures, scheme)
            print(f"{name}: fine, {len(text)} bytes")
        browser.close()


if __name__ == "__main__":
    main()
