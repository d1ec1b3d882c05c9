"""A person's own data in a real browser: files and texts."""

import re

from ..conftest import HOSTILE
from .chromium import FOCUSED, downloads, sync_api


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


def test_a_bag_of_a_fit_is_edited_and_found_again(page, fitted):
    """Filter, open a bag, remove a segment: the answer follows the evidence."""
    _, run = fitted
    page.goto(f"/data?run={run}")
    page.locator("#verdict").wait_for()
    assert "--" not in page.locator(".verdict").inner_text()
    card = page.locator(".bag-card").first
    sync_api.expect(card.locator("svg")).to_be_visible()
    page.get_by_label("Class", exact=True).select_option("sick")
    sync_api.expect(
        page.get_by_text(re.compile("a reason that cannot be told\\.$"))
    ).to_be_visible()
    page.get_by_label("Show", exact=True).select_option("unsure")  # too few bags for the auditor
    card = page.locator(".bag-card").first
    name = card.locator("b").inner_text()
    assert re.fullmatch(r"s\d+", name)
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


def test_many_columns_with_one_role_share_a_row(page, tmp_path):
    file = tmp_path / "wide.csv"
    names = [f"x{k}" for k in range(9)]
    rows = [",".join([f"s{i}", str(i % 2), *(str(i + j + k) for k in range(9))])
            for i in range(12) for j in range(2)]  # fmt: skip
    file.write_text("\n".join([",".join(["bag", "label", *names]), *rows]))
    page.goto("/data")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    group = page.get_by_label("Role of x0 to x8")
    sync_api.expect(group).to_have_value("feature")
    sync_api.expect(page.get_by_label("Role of bag", exact=True)).to_have_value("bag")
    page.get_by_role("button", name="Show each").click()
    assert page.evaluate(FOCUSED) == "Role of x0"
    one = page.get_by_label("Role of x1", exact=True)
    one.focus()
    one.select_option("left out")
    sync_api.expect(page.get_by_label("Role of x2 to x8")).to_have_value("feature")
    assert page.evaluate(FOCUSED) == "Role of x1"
    sync_api.expect(page.get_by_label("Role of x0", exact=True)).to_have_value("feature")
    group = page.get_by_label("Role of x2 to x8")
    group.focus()
    group.select_option("left out")
    sync_api.expect(page.get_by_label("Role of x1 to x8")).to_have_value("left out")
    assert page.evaluate(FOCUSED) == "Role of x1 to x8"
    name = re.search(r"id=(\w+)", page.url)[1]
    page.request.post(f"/api/jobs/{name}/stop")
