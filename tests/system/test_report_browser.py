"""The report in a real browser, without network, at desktop and phone width. No Chromium is a failure."""

import pytest

import fake_runs as fake
from kernelwright.records.attempt import fastest
from kernelwright.report.html import Files, figures, render, script
from kernelwright.report.overview import StoredRun
from kernelwright.report.overview import render as overview

FILES = Files(kernel="runs/20261122-133900-softmax-5e86/model_new.py", receipt="runs/x/receipt.json")
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    run = fake.long_run()
    big = fake.attempt(
        0, fake.measured(), source=fake.KERNEL + "int a = 1;  // " + "x" * 400 + "\n" + "int b;\n" * 2000
    )
    named = fake.card().model_copy(update={"id": "20261122-133900-scaled_dot_product_attention-5e86"})
    pages = {
        "final": render(named, run, fake.ended(fastest(run)), (), FILES),
        "every": render(fake.card(), fake.one_of_each("a/very/long/path" * 40), None),
        "hostile": render(fake.card(name=fake.HOSTILE), fake.one_of_each(fake.NASTY), None),
        "empty": render(fake.card(), [], None),
        "big": render(fake.card(), [big], fake.ended(big)),
    }
    runs = [
        StoredRun(f"runs/{n}", fake.card(), [a], fake.ended(a, eager=3.1 - n), f"runs/{n}/report.html")
        for n, a in enumerate([fake.attempt(0, fake.measured()), fake.attempt(1, fake.measured())])
    ]
    pages["overview"] = overview(runs, {"runs/broken": fake.NASTY}, "runs")
    where = tmp_path_factory.mktemp("pages")
    for name, chart in figures(fake.card(), run, fake.ended(fastest(run))).items():
        (where / name).write_text(chart, "utf-8")
    for name, page in pages.items():
        (where / f"{name}.html").write_text(page, "utf-8")
    return where


class Opened:
    """A page with all that it complained of and asked for."""

    def __init__(self, browser, url, size, scheme="light"):
        width, height = WIDTHS[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def overflow(self):
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("name", ["final", "every", "hostile", "empty", "big", "overview"])
def test_it_opens_quietly_and_fits(browser, folder, name, size):
    url = (folder / f"{name}.html").as_uri()
    with Opened(browser, url, size) as opened:
        assert opened.overflow() == 0
        opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert opened.overflow() == 0
        assert opened.complaints == []
        assert opened.requests == [url]


def test_hostile_text_is_not_executed(browser, folder):
    with Opened(browser, (folder / "hostile.html").as_uri(), "desktop") as opened:
        opened.page.wait_for_timeout(200)
        assert opened.page.title() != "owned"
        assert opened.page.evaluate("document.images.length") == 0
        assert opened.page.evaluate("[...document.scripts].map(s => s.text)") == [script()]


def test_the_policy_forbids_scripts_and_network(browser, folder):
    page = (folder / "empty.html").read_text("utf-8")
    attack = '<img src="http://127.0.0.1:9/x"><script>document.title = "owned"</script></body>'
    broken = folder / "broken.html"
    broken.write_text(page.replace("</body>", attack), "utf-8")
    with Opened(browser, broken.as_uri(), "desktop") as opened:
        assert opened.page.title() != "owned"
        assert len([c for c in opened.complaints if "Content Security Policy" in c]) >= 2


@pytest.mark.parametrize("size", WIDTHS)
def test_an_attempt_expands(browser, folder, size):
    with Opened(browser, (folder / "every.html").as_uri(), size) as opened:
        attempt = opened.page.locator("details.attempt").nth(2)
        log = attempt.locator(".evidence")
        assert not log.is_visible()
        attempt.locator("summary").first.click()
        assert log.is_visible()
        assert "killed by SIGSEGV" in log.inner_text()


def test_a_mark_in_the_chart_leads_to_its_attempt(browser, folder):
    with Opened(browser, (folder / "final.html").as_uri(), "desktop") as opened:
        opened.page.locator(".wide a[href='#attempt-5']").first.click()
        opened.page.wait_for_timeout(100)
        assert opened.page.locator("#attempt-5").is_visible()


@pytest.mark.parametrize("size", WIDTHS)
def test_one_drawing_of_each_chart_is_shown(browser, folder, size):
    with Opened(browser, (folder / "final.html").as_uri(), size) as opened:
        shown = opened.page.locator("#search svg.chart[aria-label^='60 attempts']:visible")
        assert shown.count() == 1


def test_dark_mode_is_dark(browser, folder):
    lightness = """() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
        .reduce((sum, part) => sum + Number(part), 0) / 3"""
    url = (folder / "final.html").as_uri()
    with Opened(browser, url, "desktop") as light, Opened(browser, url, "desktop", "dark") as dark:
        assert light.page.evaluate(lightness) > 200
        assert dark.page.evaluate(lightness) < 50


@pytest.mark.parametrize("size", WIDTHS)
def test_the_header_and_every_line_of_code_fit(browser, folder, size):
    with Opened(browser, (folder / "final.html").as_uri(), size) as opened:
        width, _ = WIDTHS[size]
        assert opened.page.evaluate("document.querySelector('.top .mark').getBoundingClientRect().right") <= width
        assert (
            opened.page.evaluate("document.querySelector('.top nav').lastElementChild.getBoundingClientRect().right")
            <= width
        )
        assert opened.page.locator(".top .mark").inner_text().split()[-1].endswith("5e86")
        wider = "[...document.querySelectorAll('pre')].filter(p => p.scrollWidth > p.clientWidth).length"
        assert opened.page.evaluate(wider) == 0
    with Opened(browser, (folder / "big.html").as_uri(), size) as opened:
        assert opened.page.evaluate(wider) == 0


def test_a_button_copies_the_kernel_and_its_path(browser, folder):
    with Opened(browser, (folder / "final.html").as_uri(), "phone") as opened:
        opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
        copied = []
        for place in ("#use", "#kernel"):
            opened.page.locator(f"{place} button").first.click()
            opened.page.locator(f"{place} button", has_text="Copied").first.wait_for()
            copied.append(opened.page.evaluate("navigator.clipboard.readText()"))
        assert copied[0] == FILES.kernel
        assert copied[1].splitlines()[:2] == fake.KERNEL.splitlines()[:2]


def test_a_chart_is_a_picture_of_its_own(browser, folder):
    for file in sorted(folder.glob("*.svg")):
        with Opened(browser, file.as_uri(), "desktop") as opened:
            box = opened.page.locator("svg").bounding_box()
            assert (box["width"], box["height"]) == tuple(
                float(opened.page.locator("svg").get_attribute(side)) for side in ("width", "height")
            )
            assert opened.page.evaluate("getComputedStyle(document.querySelector('text')).fill") != "rgb(0, 0, 0)"
            assert opened.complaints == []
