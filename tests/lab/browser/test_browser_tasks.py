"""Five tasks that a new user does, with the clicks and the time they take."""

import re
import time

import pytest

from ..uploading import write_bags
from .chromium import sync_api

LONG = 600_000  # milliseconds: a training on a machine that does other things too


class Clicks:
    """Counts what a user does: clicks, choices and files."""

    def __init__(self):
        self.count = 0
        self.start = time.monotonic()

    def __call__(self, target):
        self.count += 1
        target.click()

    def choose(self, target, file):
        self.count += 1
        target.set_input_files(file)

    def done(self, name, most):
        print(f"{name}: {self.count} clicks, {time.monotonic() - self.start:.1f} s")
        assert self.count <= most


@pytest.fixture
def clicks():
    return Clicks()


def test_find_a_start_in_error_mode_1_and_its_class(page, clicks):
    page.goto("/train?paradigms=soft&epochs=40")
    clicks(page.get_by_role("button", name="Start training"))
    state = page.locator("#state", has_text=re.compile("^Done$"))  # a start may leave the mode
    state.wait_for(timeout=LONG)
    clicks(page.locator(".tile.misplaced").first)
    sentence = page.locator(".model .sentence")
    sync_api.expect(sentence).to_contain_text(re.compile(r"class \d is read from the background"))
    clicks.done("a start that cheats", 3)


def test_the_example_has_a_start_in_error_mode_1(page, clicks):
    """Without training anything: the bundled example is there when the page opens."""
    page.goto("/train")
    clicks(page.locator(".tile.misplaced").first)
    sentences = page.locator(".model .sentence", has_text="is read from the background")
    sentences.first.wait_for()
    clicks.done("a start that cheats, in the example", 1)


def test_the_flow_answer_explains_why_soft_attention_stalls(page, clicks):
    page.goto("/")
    answer = page.locator("#why")
    sync_api.expect(answer).to_contain_text("stops improving because its incentive")
    box = answer.bounding_box()
    assert box["y"] + box["height"] < 900  # on the first screen
    clicks.done("why soft attention stalls", 0)


def test_from_a_file_to_a_bag_that_is_right_for_the_wrong_reason(page, clicks, tmp_path):
    """The bags are sorted by it: the first one is the most doubtful, and its id is on it."""
    file = tmp_path / "cases.csv"
    write_bags(file)
    page.goto("/data")
    clicks.choose(page.get_by_label("Drop a file here, or choose one"), file)
    role = page.get_by_label("Role of diagnosis")
    sync_api.expect(role).to_have_value("label")
    question = page.get_by_label("Does any class mean that nothing is there?")
    sync_api.expect(question).to_have_value("well")
    clicks(page.get_by_role("button", name="Fit and examine"))
    page.locator("#left").wait_for()
    card = page.locator(".bag-card").first
    card.wait_for(timeout=LONG)
    assert re.fullmatch(r"case \d+", card.locator("b").inner_text())
    clicks(card)
    sync_api.expect(page.locator("#edited")).to_contain_text("Read as")
    clicks.done("a doubtful bag of a file", 6)


def test_compare_two_runs(page, clicks):
    page.goto("/runs")
    for name in ("boxes", "digits"):
        clicks(page.get_by_label(f"Compare {name}"))
    clicks(page.get_by_role("button", name="Compare"))
    page.get_by_role("heading", name="2 runs compared").wait_for()
    page.get_by_role("heading", name="digits minus boxes").wait_for()
    assert "compare=" in page.url
    clicks.done("two runs compared", 4)


def test_paste_a_sentence_and_see_which_word_decides(page, clicks):
    """A bundled model reads English; what it made of an example is there before it is loaded."""
    page.goto("/words?model=example-imdb")  # not one that another test has trained
    sync_api.expect(page.locator("#decides")).to_contain_text("decide")
    page.locator("#state", has_text="Ready").wait_for(timeout=LONG)
    page.get_by_label("A text to read").fill("The plot was dull, but the music was wonderful.")
    clicks(page.get_by_role("button", name="Read", exact=True))
    sync_api.expect(page.locator("[data-figure=alpha]")).to_contain_text("wonderful")
    sync_api.expect(page.locator("#decides")).to_contain_text(re.compile("dull|wonderful"))
    clicks.done("which word decides", 2)
