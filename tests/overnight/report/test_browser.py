"""Look at the report as a reader does: in a browser, by day and by night."""

import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt-get install chromium brings it"),
]


@pytest.fixture
def browse(tmp_path):
    """Run headless Chromium on a page; `preferredColorScheme` 0 is dark and 1 light (Blink's PreferredColorScheme)."""

    def run(page, *arguments, scheme=1):
        command = [
            str(CHROMIUM),
            *QUIET,
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--blink-settings=preferredColorScheme={scheme}",
            *arguments,
            page.as_uri(),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    return run


def test_the_report_renders_by_day_and_by_night(root, page, two_weeks, browse, tmp_path):
    page(two_weeks[1])
    path = root.path / "runs" / two_weeks[1] / "report.html"

    pictures = {}
    for name, scheme in (("day", 1), ("night", 0)):
        file = tmp_path / f"{name}.png"
        browse(path, f"--screenshot={file}", "--window-size=1200,1600", scheme=scheme)
        with Image.open(file) as image:
            pictures[name] = np.asarray(image.convert("L"), dtype=np.float64)

    for picture in pictures.values():
        assert len(np.unique(picture)) > 50, "a blank page has few shades"
    assert pictures["day"].mean() > 200
    assert pictures["night"].mean() < 60


def test_the_browser_keeps_every_part_and_draws_every_chart(root, page, two_weeks, browse):
    page(two_weeks[1])
    dom = browse(root.path / "runs" / two_weeks[1] / "report.html", "--dump-dom")
    for part in ("verdict", "classes", "training", "data", "time", "audit"):
        assert f'<section id="{part}">' in dom
    assert dom.count("<svg") >= 8
    assert dom.count('class="line"') == 5
    assert "NaN" not in dom
