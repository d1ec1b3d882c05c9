"""A person's own data in a real browser: files and texts."""

import re

from ..conftest import HOSTILE
from .chromium import downloads, sync_api


def test_a_file_with_a_hostile_name_is_checked(page, tmp_path, client):
    file = tmp_path / f"{HOSTILE}.csv"
    file.write_text("bag,label,a\ns1,x,1\ns2,y,2\n")
    page.goto("/own")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    page.get_by_role("heading", name=file.name).wait_for()
    sync_api.expect(page.get_by_role("button", name="Fit and examine")).to_be_enabled()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hurt") is None
    name = re.search(r"id=(\w+)", page.url)[1]
    assert client.post(f"/api/trainings/{name}/stop").json()["state"] == "stopped"


def test_a_fit_is_chosen_by_its_attention(page, tmp_path):
    labels = ["no", "yes"]
    file = tmp_path / "bags.csv"
    rows = [
        f"s{i},{labels[i % 2]},{0 if j else 2 * i % 4 - 1},{i + j / 10}"
        for i in range(60)
        for j in range(3)
    ]
    file.write_text("\n".join(["bag,label,a,b", *rows]))
    page.goto("/own")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    page.get_by_label("Models of each").fill("1")
    page.get_by_label("Epochs (by size unless given)").fill("3")
    for name in ("Hard", "LVML", "Hybrid", "Witness"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_label("of those about as accurate").check()
    page.get_by_role("button", name="Fit and examine").click()
    page.get_by_role("columnheader", name="Attention, label-free score").wait_for(timeout=60_000)
    said = page.get_by_text("known locations play no part")
    sync_api.expect(said).to_be_visible()


def test_a_text_model_is_asked_and_opened_again_another_day(page, client):
    name = client.post("/api/words", json={"steps": 20}).json()["id"]
    page.goto(f"/words?id={name}")
    page.locator("[data-figure=alpha] .tokens span").first.wait_for()
    page.get_by_label("A text to read").fill(f"1 2 {HOSTILE}")
    page.get_by_role("button", name="Read", exact=True).click()
    sync_api.expect(page.locator("[data-figure=alpha] .tokens span").nth(2)).to_have_text("<img")
    assert page.evaluate("window.hurt") is None
    svg, table = downloads(page, page.locator("[data-figure=delta]"))
    assert "&lt;img" in svg
    assert table.splitlines()[0] == "word,known,alpha,beta,delta"
    answer = page.locator("p.strong[role=status]").inner_text()
    kept = client.get(f"/api/trainings/{name}").json()["result"]["model"]
    client.post(f"/api/trainings/{name}/stop")
    page.goto(f"/words?model={kept}&text=1+2+{HOSTILE.replace('=', '%3D')}")
    sync_api.expect(page.locator("p.strong[role=status]")).to_have_text(answer)
    sync_api.expect(page.get_by_label("Or ask one that was trained before")).to_have_value(kept)
    again = re.search(r"id=(\w+)", page.url)[1]
    assert again != name
    client.post(f"/api/trainings/{again}/stop")
