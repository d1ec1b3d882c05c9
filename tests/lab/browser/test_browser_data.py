"""A person's own data in a real browser: files and texts."""

import re

import numpy as np

from ..conftest import HOSTILE
from .chromium import downloads, sync_api


def test_a_file_with_a_hostile_name_is_checked(page, tmp_path, client):
    file = tmp_path / f"{HOSTILE}.csv"
    file.write_text("bag,label,a\ns1,x,1\ns2,y,2\n")
    page.goto("/data")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    page.get_by_role("heading", name=file.name).wait_for()
    sync_api.expect(page.get_by_role("button", name="Fit and examine")).to_be_enabled()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hurt") is None
    name = re.search(r"id=(\w+)", page.url)[1]
    assert client.post(f"/api/jobs/{name}/stop").json()["state"] == "stopped"


def write_bags(file):
    """Bags of four segments of two numbers; in "sick" bags one of them is far from the rest."""
    chance = np.random.default_rng(0)
    rows = ["case,diagnosis,a,b"]
    for i in range(90):
        place = chance.integers(4)
        for j in range(4):
            a, b = chance.normal(4 * (i % 2 and j == place), 0.5, 2).round(3)
            rows.append(f"case {i},{['well', 'sick'][i % 2]},{a},{b}")
    file.write_text("\n".join(rows))


def test_from_a_file_to_a_bag_with_its_id(page, tmp_path):
    """Choose a file, fit, open a bag, remove a segment: the answer follows the evidence."""
    file = tmp_path / "cases.csv"
    write_bags(file)
    page.goto("/data")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    role = page.get_by_label("Role of diagnosis")
    sync_api.expect(role).to_have_value("label")
    question = page.get_by_label("Does any class mean that nothing is there?")
    sync_api.expect(question).to_have_value("well")
    page.get_by_text("More settings").click()
    page.get_by_label("Models of each").fill("1")
    page.get_by_label("Epochs (by size unless given)").fill("25")
    page.keyboard.press("Tab")
    for name in ("LVML", "Hybrid", "Witness"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_role("button", name="Fit and examine").click()
    page.locator("#left").wait_for()
    page.locator("#verdict").wait_for()
    assert "--" not in page.locator(".verdict").inner_text()
    card = page.locator(".bag-card").first
    sync_api.expect(card.locator("svg")).to_be_visible()
    page.get_by_label("Class", exact=True).select_option("sick")
    page.get_by_label("Show", exact=True).select_option("right")
    card = page.locator(".bag-card").first
    name = card.locator("b").inner_text()
    assert re.fullmatch(r"case \d+", name)
    card.click()
    page.get_by_role("heading", name=f"{name}, label sick").wait_for()
    edited = page.locator("#edited")
    sync_api.expect(edited).to_contain_text("Read as sick")
    page.get_by_role("button", name=re.compile("^Remove segment")).first.click()
    sync_api.expect(edited).to_contain_text("now read as well")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("Put back segment")
    address = page.url
    page.goto("/flow")
    page.goto(address)
    page.get_by_role("heading", name=f"{name}, label sick").wait_for()


def test_a_wrong_role_is_mended_in_its_menu(page, tmp_path):
    file = tmp_path / "bags.csv"
    rows = [f"s{i},{i % 2},{i % 3},{i + j}" for i in range(12) for j in range(2)]
    file.write_text("\n".join(["bag,label,other,x", *rows]))
    page.goto("/data")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    sync_api.expect(page.locator("#summary")).to_contain_text("classes: 0 (6), 1 (6)")
    page.get_by_label("Role of other").select_option("label")
    sync_api.expect(page.locator("#summary")).to_contain_text("classes: 0 (4), 1 (4), 2 (4)")
    sync_api.expect(page.get_by_label("Role of label")).to_have_value("left out")
    name = re.search(r"id=(\w+)", page.url)[1]
    page.locator(".jobs-panel summary").click()
    page.get_by_role("button", name="Stop Your data: bags.csv").click()
    sync_api.expect(page.locator(".jobs li", has_text="bags.csv")).to_have_count(0)
    assert name


def test_a_saved_text_model_is_queried_and_reopened(page, client):
    name = client.post("/api/text-models", json={"steps": 20}).json()["id"]
    page.goto(f"/words?id={name}")
    page.locator("[data-figure=alpha] .tokens span").first.wait_for()
    page.get_by_label("A text to read").fill(f"1 2 {HOSTILE}")
    page.get_by_role("button", name="Read", exact=True).click()
    sync_api.expect(page.locator("[data-figure=alpha] .tokens span").nth(2)).to_have_text("<img")
    assert page.evaluate("window.hurt") is None
    svg, table = downloads(page, page.locator("[data-figure=delta]"))
    assert "&lt;img" in svg
    assert table.splitlines()[0] == "word,known,alpha,beta,removal,delta"
    answer = page.locator("#answer").inner_text()
    stored = client.get(f"/api/jobs/{name}").json()["result"]["model"]
    client.post(f"/api/jobs/{name}/stop")
    page.goto(f"/words?model={stored}&text=1+2+{HOSTILE.replace('=', '%3D')}")
    sync_api.expect(page.locator("#answer")).to_have_text(answer)
    sync_api.expect(page.get_by_label("Or ask one that was trained before")).to_have_value(stored)
    again = re.search(r"id=(\w+)", page.url)[1]
    assert again != name
    client.post(f"/api/jobs/{again}/stop")
