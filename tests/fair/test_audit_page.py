"""The page of an audit in a real browser; apart from the other audits, because what a process reads is not known."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.fair.test_audit import report


@pytest.mark.audit
def test_the_page_opens_in_a_browser(tmp_path):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed; apt-get install chromium")
    page = report().save(tmp_path / "audit.html")
    picture = tmp_path / "audit.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--screenshot={picture}", "--window-size=1150,2400"]
    subprocess.run([browser, *flags, page.as_uri()], check=True, capture_output=True, timeout=120)
    assert picture.stat().st_size > 50_000
