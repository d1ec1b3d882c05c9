"""Models and tables that are named by files: verdicts, refusals in a sentence, nothing written."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from foveate.cli import main
from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.jobs.examine_files import ExamineRequest, examine_files
from foveate.trust.attention_table import read_attention
from foveate.trust.loading import load_object, load_onnx, load_weights

MODULE = """
import torch
from torch import nn

class ABMIL(nn.Module):
    def __init__(self):
        super().__init__()
        self.s, self.g = nn.Linear(2, 1, bias=False), nn.Linear(2, 1)
        with torch.no_grad():
            self.s.weight.copy_(torch.tensor([[4.0, 0.0]]))
            self.g.weight.copy_(torch.tensor([[1.0, 0.0]]))
            self.g.bias.fill_(-3.0)
    def forward(self, x, mask):
        alpha = self.s(x).squeeze(-1).masked_fill(~mask, -torch.inf).softmax(1)
        return self.g((alpha[..., None] * x).sum(1)), alpha

class Sized(nn.Module):
    def __init__(self, size):
        super().__init__()

def crash():
    import os
    os._exit(7)

def broken():
    raise KeyError("no such file")

def constant(x, mask):
    return x[:, 0, :1], mask / mask.sum(1, keepdim=True)

instance = ABMIL().eval()
training = ABMIL()
number = 5
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with bags, a module and its attention in a table of every format."""
    folder = tmp_path_factory.mktemp("external")
    (folder / "external_models.py").write_text(MODULE)
    chance = np.random.default_rng(0)
    rows = []
    for i in range(80):
        x = chance.normal(size=(5, 2))
        x[chance.integers(5), 0] += 6.0 * (i % 2)
        rows += [(f"b{i}", "yes" if i % 2 else "no", *row) for row in x.tolist()]
    with (folder / "bags.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("bag", "label", "a", "b"), *rows])
    return folder


@pytest.fixture(autouse=True)
def _inside(here, monkeypatch):
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))


def attention_rows():
    """Bag, place, scores and weights of the module's own attention."""
    bags = read_bags("bags.csv", labelled=True)
    x = bags.bag.dense()
    s = (4 * x[..., 0]).double().numpy()
    alpha = np.exp(s - s.max(1, keepdims=True))
    alpha /= alpha.sum(1, keepdims=True)
    mixed = (alpha * x[..., 0].numpy()).sum(1)
    p = 1 / (1 + np.exp(3 - mixed))
    return bags, [
        {
            "bag": name,
            "segment": j,
            "score": float(s[i, j]),
            "attention": float(alpha[i, j]),
            "p_yes": float(p[i]),
        }
        for i, name in enumerate(bags.ids)
        for j in range(5)
    ]


def write(path, rows, names=("bag", "segment", "attention")):
    columns = {name: [row[name] for row in rows] for name in names}
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    elif path.suffix == ".jsonl":
        lines = [json.dumps({name: row[name] for name in names}) for row in rows]
        path.write_text("\n".join(lines))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([names, *zip(*columns.values(), strict=True)])
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".jsonl"])
def test_tables_of_every_format_hold_the_same_attention(here, suffix):
    bags, rows = attention_rows()
    table = read_attention(write(here / f"a{suffix}", rows), bags.ids, bags.bag, bags.classes)
    expected = np.array([row["attention"] for row in rows]).reshape(80, 5)
    np.testing.assert_allclose(table.alpha, expected, atol=1e-12)
    assert "as weights" in table.notes[0]
    assert "how accurate" in " ".join(table.notes)


def test_scores_of_a_table_become_the_same_weights(here):
    bags, rows = attention_rows()
    scores = [{**row, "attention": row["score"]} for row in rows]
    table = read_attention(write(here / "s.csv", scores), bags.ids, bags.bag, bags.classes)
    expected = np.array([row["attention"] for row in rows]).reshape(80, 5)
    np.testing.assert_allclose(table.alpha, expected, atol=1e-12)
    assert "as scores" in table.notes[0]


def changed(rows, k, **values):
    return [*rows[:k], {**rows[k], **values}, *rows[k + 1 :]]


def test_tables_that_cannot_be_right_are_refused_in_a_sentence(here):
    bags, rows = attention_rows()

    def refusal(rows, **keywords):
        path = write(here / "bad.csv", rows, **keywords)
        with pytest.raises(FoveateError) as stop:
            read_attention(path, bags.ids, bags.bag, bags.classes)
        return str(stop.value)

    assert "no bag 'b99' in the data; did you mean" in refusal(changed(rows, 3, bag="b99"))
    assert "segments 0 to 4, got 5" in refusal([*rows, {**rows[0], "segment": 5}])
    assert "is also in" in refusal([*rows, rows[0]])
    assert "no attention for segment 0 of bag 'b0'" in refusal(rows[1:])
    assert "finite number, got 'nan'" in refusal(changed(rows, 2, attention="nan"))
    assert "must not be negative" in refusal(changed(rows, 2, attention=-0.5))
    assert "must sum to one as in other bags" in refusal(changed(rows, 2, attention=0.9))
    assert "needs a column 'attention'" in refusal(rows, names=("bag", "segment"))
    both = [{**row, "p_no": 1 - row["p_yes"]} for row in rows]
    names = ("bag", "segment", "attention", "p_no", "p_yes")
    assert "same in all rows of a bag" in refusal(changed(both, 4, p_no=0.123), names=names)
    half = [{**row, "p_no": 0.0} for row in both]
    assert "sum to one" in refusal(half, names=names)
    assert "'p_yes' and none 'p_no'" in refusal(both, names=(*names[:3], "p_yes"))


def test_a_table_gets_a_verdict_that_names_what_was_not_done(here, capsys):
    _, rows = attention_rows()
    rows = [{**row, "p_no": 1 - row["p_yes"]} for row in rows]
    write(here / "full.csv", rows, ("bag", "segment", "attention", "p_no", "p_yes"))
    arguments = ["--data", "bags.csv", "--attention", "full.csv", "--absent", "no"]
    main(["trust", *arguments, "--out", "table.html"])
    said = capsys.readouterr().out
    assert "Attention is given as weights" in said
    assert "Not done, since it needs the model read again: removal" in said
    [found] = json.loads((here / "table.json").read_text())["found"]
    yes = found["by_class"][1]
    assert yes["verdict"]["grade"] == "trust with care"
    assert yes["estimate"] > 0.9
    assert "not tested: the models were not read again" in " ".join(
        (yes["verdict"]["summary"], *yes["verdict"]["why"])
    )
    assert "Not done, since it needs" in (here / "table.html").read_text()


def test_a_table_without_answers_of_the_model_gets_an_estimate_and_a_page(here):
    _, rows = attention_rows()
    write(here / "bare.csv", rows, ("bag", "segment", "attention"))
    arguments = ["--data", "bags.csv", "--attention", "bare.csv", "--absent", "no"]
    main(["trust", *arguments, "--out", "bare.html"])
    [examination] = json.loads((here / "bare.json").read_text())["found"]
    assert examination["by_model"][0]["accuracy"] is None
    assert examination["by_class"][1]["estimate"] > 0.9
    assert "how accurate the model is" in (here / "bare.html").read_text()


def test_a_module_is_examined_in_a_process_of_its_own(here, capfd):
    with torch.random.fork_rng(devices=[]):
        weights = load_object("external_models:ABMIL").state_dict()
    save_file(weights, "abmil.safetensors")
    arguments = ["--data", "bags.csv", "--model", "external_models:ABMIL", "--absent", "no"]
    main(["trust", *arguments, "--weights", "abmil.safetensors", "--out", "m.html"])
    out, err = capfd.readouterr()
    assert "runs the code of external_models, in a process of its own" in err
    assert "as weights that sum to one" in out
    [found] = json.loads((here / "m.json").read_text())["found"]
    assert found["paradigm"] == "ABMIL"
    assert found["by_class"][1]["accuracy"] > 0.9
    assert found["by_class"][1]["verdict"]["grade"] == "trust with care"


def test_a_module_that_ends_the_process_writes_nothing(here, capfd):
    with pytest.raises(SystemExit):
        main(["trust", "--data", "bags.csv", "--model", "external_models:crash", "--out", "c.html"])
    assert "ended with code 7" in capfd.readouterr().err
    assert not (here / "c.html").exists()
    assert not (here / "c.json").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("external_models", "must be package.module:object"),
        ("no_such_module:x", "cannot be imported: ModuleNotFoundError"),
        ("external_models:ABMILL", "did you mean 'ABMIL'"),
        ("external_models:Sized", "needs arguments \\(size\\)"),
        ("external_models:broken", "failed: KeyError"),
        ("external_models:number", "must be callable, got int"),
        ("external_models:training", "training mode"),
        ("nothing.onnx", "there is no file"),
        ("external_models.py.onnx", "is no ONNX model"),
    ],
)
def test_models_that_cannot_be_loaded_are_refused_in_a_sentence(here, name, words):
    (here / "external_models.py.onnx").write_text("no model")
    with pytest.raises(FoveateError, match=words):
        examine_files(ExamineRequest("bags.csv", model=name))


def test_weights_of_another_architecture_are_refused(here):
    model = load_object("external_models:instance")
    good = model.state_dict()

    def refusal(state, path="w.safetensors"):
        save_file(state, here / "w.safetensors")
        with pytest.raises(FoveateError) as stop:
            load_weights(model, here / path)
        return str(stop.value)

    assert "lacks 's.weight'" in refusal({k: v for k, v in good.items() if k != "s.weight"})
    assert "no 'h'" in refusal({**good, "h": torch.zeros(1)})
    assert "has shape (1, 3), and the module needs (1, 2)" in refusal(
        {**good, "s.weight": torch.zeros(1, 3)}
    )
    assert "must be a .safetensors file" in refusal(good, "w.pt")
    (here / "broken.safetensors").write_bytes(b"no weights")
    assert "cannot be read" in refusal(good, "broken.safetensors")


def test_flags_that_contradict_each_other(here, capsys):
    def refusal(*arguments):
        with pytest.raises(SystemExit):
            main(["trust", *arguments])
        return capsys.readouterr().err

    assert "name a run" in refusal()
    assert "--data is needed" in refusal("--model", "a:b")
    assert "not both" in refusal("--data", "bags.csv", "--model", "a:b", "--attention", "a.csv")
    assert "not two of them" in refusal("runs/x", "--data", "bags.csv", "--model", "a:b")
    assert "are for --model" in refusal("runs/x", "--seed", "1")
    main_files = sorted(path.name for path in here.glob("trust.*"))
    assert main_files == []


class Plain(torch.nn.Module):
    """What another library would export: several bags with a mask, attention beside the logits."""

    def forward(self, x, mask):
        s = torch.where(mask, 4 * x[..., 0], -1e9)
        alpha = s.softmax(1)
        logits = (alpha * x[..., 0]).sum(1, keepdim=True) - 3
        return logits, alpha


def test_an_onnx_file_is_read_as_the_module_it_came_from(here):
    pytest.importorskip("onnxruntime")
    from foveate.trust.external import External
    from foveate.userdata.export import _without_warnings

    path = here / "plain.onnx"
    x, mask = torch.ones(3, 4, 2), torch.ones(3, 4, dtype=torch.bool)
    with _without_warnings():
        program = torch.onnx.export(
            Plain(), (x, mask), dynamo=True, verbose=False, input_names=["x", "mask"],
            output_names=["logits", "attention"],
            dynamic_shapes={
                "x": {0: torch.export.Dim("n"), 1: torch.export.Dim("m")},
                "mask": {0: torch.export.Dim("n"), 1: torch.export.Dim("m")},
            },
        )  # fmt: skip
    program.save(path)
    bag = read_bags("bags.csv", labelled=True).bag
    read, usual = (External(model, bag).read([bag]) for model in (load_onnx(path), Plain().eval()))
    assert External(Plain().eval(), bag).readers[0].can_force
    assert not External(load_onnx(path), bag).readers[0].can_force
    np.testing.assert_allclose(read.alpha, usual.alpha, atol=1e-5)
    np.testing.assert_allclose(read.p, usual.p, atol=1e-5)
    np.testing.assert_allclose(read.segment_p, usual.segment_p, atol=1e-5)
