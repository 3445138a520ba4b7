"""The gallery's pictures, from a folder in which the tutorial was run.

    python docs/pictures.py FOLDER

The browser is Chromium: the one on the path, or Playwright's own.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import discreet as ds

TARGET = Path(__file__).parent / "images" / "gallery"
WIDE = {"width": 1180, "height": 920}
PHONE = {"width": 390, "height": 844}


def main() -> None:
    """Every picture of docs/tutorial.md."""
    folder = Path(sys.argv[1]).resolve()
    TARGET.mkdir(parents=True, exist_ok=True)
    ds.load(folder / "release.json").plot().savefig(TARGET / "plot.png", dpi=110)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        draw(browser, (folder / "page.html").as_uri())
        browser.close()


def draw(browser: Browser, address: str) -> None:
    """The page as it opens, its sections, in the dark and on a phone."""
    page = opened(browser, address, WIDE)
    for section in ("understand", "trust"):
        page.locator(f"#{section}").screenshot(path=TARGET / f"{section}.png")
    page.check("#compare")
    page.locator("#b-2").select_option(index=2)
    page.locator("#explore").screenshot(path=TARGET / "explore.png")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=TARGET / "page.png")
    opened(browser, address, WIDE, dark=True).screenshot(path=TARGET / "dark.png")
    opened(browser, address, PHONE).screenshot(path=TARGET / "phone.png")


def opened(browser: Browser, address: str, size: dict[str, int], *, dark: bool = False) -> Page:
    """A page whose charts are drawn."""
    page = browser.new_page(viewport=size, color_scheme="dark" if dark else "light")
    page.goto(address)
    page.wait_for_selector("#survival-chart svg, #survival-chart canvas")
    page.wait_for_timeout(500)
    return page


if __name__ == "__main__":
    main()
