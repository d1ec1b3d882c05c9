"""The columns of a user's file: roles that are guessed from names and values, and changed."""

import json

from foveate.io import read_bags
from foveate.lab.live.columns import suggest_absent
from foveate.lab.live.role_guess import guess_roles

from .uploading import reached, send_file, table


def test_a_negated_class_is_suggested_as_absent(tmp_path):
    file = tmp_path / "birds.csv"
    rows = [f"r{i},{['wren', 'no wren'][i % 2]},{i + j}" for i in range(8) for j in range(2)]
    file.write_text("\n".join(["bag,label,a", *rows]))
    assert suggest_absent(read_bags(file))["name"] == "no wren"


def test_roles_are_changed_without_sending_the_file_again(client):
    content = table(12).replace(b"bag,label,", b"patient,outcome,")
    name = send_file(client, "bags.csv", content).json()["id"]
    view = reached(client, name, "ready")["setup"]["view"]
    roles = {column["name"]: column["role"] for column in view["columns"]}
    assert roles == {"patient": "bag", "outcome": "label", "a": "feature", "b": "feature",
                     "relevance": "relevance"}  # fmt: skip
    assert all(column["reason"] for column in view["columns"])
    assert view["columns"][0]["values"][0] == "s0"
    changed = {**roles, "b": "left out"}
    assert client.post(f"/api/uploads/{name}/columns", json=changed).json()["begun"]
    view = reached(client, name, "ready")["setup"]["view"]
    assert view["description"]["columns"] == ["a"]
    twice = {**roles, "a": "label"}
    answer = client.post(f"/api/uploads/{name}/columns", json=twice)
    assert answer.status_code == 400
    assert "one column can be the label" in answer.json()["error"]
    client.post(f"/api/jobs/{name}/stop")


def test_a_column_that_is_left_out_is_not_read_whatever_it_is_called(client):
    rows = [f"s{k},{k % 2},p{k // 6},{1 - j},{k + j}" for k in range(24) for j in (0, 1)]
    content = "\n".join(["bag,label,group,relevance,a", *rows]).encode()
    name = send_file(client, "bags.csv", content).json()["id"]
    view = reached(client, name, "ready")["setup"]["view"]
    assert view["description"]["groups"] == 4
    assert view["description"]["known"] == 1
    roles = {row["name"]: row["role"] for row in view["columns"]}
    roles |= {"group": "left out", "relevance": "left out"}
    client.post(f"/api/uploads/{name}/columns", json=roles)
    view = reached(client, name, "ready")["setup"]["view"]
    assert view["description"]["groups"] is None
    assert view["description"]["known"] == 0
    assert {row["name"]: row["role"] for row in view["columns"]} == roles
    assert client.post(f"/api/jobs/{name}/stop").json()["state"] == "stopped"


def test_roles_are_guessed_from_values(tmp_path):
    file = tmp_path / "recordings.csv"
    rows = ["recording,fault,pump,start,end,rms,heard,remark"]
    for i in range(12):
        fault = ["bearing", "leak", "none"][i % 3]
        rows += [f"r{i},{fault},pump {i % 6},{j},{j + 1},{j / 7},{j % 2 if i < 3 else ''},w{i}{j}"
                 for j in range(3)]  # fmt: skip
    file.write_text("\n".join(rows))
    assert guess_roles(file) == {
        "recording": "left out", "fault": "label", "pump": "group", "start": "place",
        "end": "place", "rms": "feature", "heard": "relevance", "remark": "left out",
    } | {"recording": "bag"}  # fmt: skip
    file.write_text("a,b\n1,2\n3,4\n")
    assert guess_roles(file) == {}


def test_roles_of_texts_are_guessed_from_values(tmp_path):
    file = tmp_path / "posts.csv"
    posts = [f"p{i},{['rude', 'kind'][i % 2]},{i % 3},what {i} was said here" for i in range(12)]
    file.write_text("\n".join(["post,class,likes,comment", *posts]))
    whole = {"post": "bag", "class": "label", "likes": "left out", "comment": "text"}
    assert guess_roles(file) == whole
    rows = ["claim,article,verdict,line,sentence"]
    for i in range(12):
        verdict = ["supported", "refuted"][i % 2]
        rows += [f"{900 + i},page {i % 4},{verdict},{j},sentence {j} of page {i}" for j in range(3)]
    file.write_text("\n".join(rows))
    by_sentence = {"claim": "bag", "article": "group", "verdict": "label", "line": "left out"}
    assert guess_roles(file) == by_sentence | {"sentence": "text"}


def test_roles_of_claims_about_articles_are_guessed_from_values(tmp_path):
    """Lists are no cells; a claim is no name of a bag, although each is different."""
    file = tmp_path / "claims.jsonl"
    rows = [
        {"article": f"article {i % 4} says much more than a claim does", "label": i % 2,
         "claim": f"claim {i} is true", "spans": [i], "id": f"c{i}"}
        for i in range(12)
    ]  # fmt: skip
    file.write_text("\n".join(json.dumps(row) for row in rows))
    roles = {"article": "text", "label": "label", "claim": "left out", "spans": "left out"}
    assert guess_roles(file) == roles | {"id": "bag"}
