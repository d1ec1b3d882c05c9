"""Make the results that the lab brings along: python tools/bundle_lab.py [name ...].

``claims`` takes the figures of the claims whose studies were run at small scale or above (``foveate
claims --run``) and keeps the earlier figures of the others.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from fastapi.testclient import TestClient

from foveate.charts.render import vega_spec
from foveate.jobs.experiment import experiment_charts
from foveate.lab.bundled import BUNDLED, LARGEST, bundled_json, write_bundled_json
from foveate.lab.explorable import build_explorable
from foveate.lab.live.fit import fit_and_examine
from foveate.lab.live.role_guess import guess_roles
from foveate.lab.live.text import reading_course, small_reader
from foveate.lab.requests import FitRequest, UploadJob
from foveate.lab.saved_models import FOLDER, ReaderTexts, vocabulary_digest, write_model
from foveate.lab.server.app import create_app
from foveate.lab.server.jobs import EXAMPLE
from foveate.records.runs import open_run
from foveate.studies.ledger import ledger_at, shipped_ledger
from foveate.text.corpora import load_texts
from foveate.text.loop import follow
from foveate.userdata.source import Origin

RUNS = BUNDLED / "runs"
GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "five-commands.md"
EXAMPLE_PARADIGMS = ["soft", "hard", "lvml", "witness"]
EXAMPLES = {
    "imdb": [
        "The first half is slow, but the acting is superb and the ending moved me to tears.",
        "A dull script, wooden actors and jokes that nobody in the room laughed at.",
        "I expected a terrible film. It is not: it is funny, warm and beautifully shot.",
        "What a waste of two hours. Even the music was bad.",
        "My favourite film of the year, with a wonderful performance by the whole cast.",
        "Not great, not awful, just boring.",
    ],
    "sms": [
        "Congratulations! You have won a free prize. Call now to claim your cash.",
        "Are we still meeting for lunch tomorrow? I can be there at noon.",
        "URGENT: your mobile number was selected, text WIN to 80086 for a ringtone",
        "Sorry, I'll be late. Don't wait for me with dinner.",
        "Free entry in a weekly competition, reply STOP to end",
        "Did you call mom? She said the prize was hers.",
    ],
}


def explorable() -> None:
    """The trainings of the interactive explanation."""
    write_bundled_json("explorable", build_explorable())


def race() -> None:
    """A finished race on digits."""
    folder = _fresh("race-digits")
    _foveate("race", "digits", "--seeds", "4", "--out", str(folder))
    _seal(folder)


def fit() -> None:
    """A fit of the recordings of the guide, examined, with its data beside it."""
    folder = _fresh("fit-pumps")
    with tempfile.TemporaryDirectory() as work:
        script = GUIDE.read_text("utf-8").split("```python make_recordings.py\n")[1].split("```")[0]
        subprocess.run([sys.executable, "-c", script], cwd=work, check=True)
        table = Path(work) / "recordings.csv"
        job = UploadJob(path=str(table), name="recordings.csv", roles=guess_roles(table))
        origin = Origin(table, job.columns())
        collection = replace(origin.read(labelled=True), source="recordings.csv")
        request = FitRequest(absent=("healthy",))
        run = fit_and_examine(collection, origin, request, "recordings.csv", _print, folder)
        shutil.copy(table, folder)
    data = dict(run.manifest["data"])
    data["origin"] = {**data["origin"], "path": "recordings.csv"}
    run.update(data=data)
    _seal(folder)


def _print(part: str, done: int, total: int) -> None:
    if done in (0, total):
        print(part, done, "of", total, flush=True)


def words() -> None:
    """Two classifiers of texts: film reviews and text messages."""
    for corpus, least in (("imdb", 15), ("sms", 2)):
        _text_model(corpus, least)


def _text_model(corpus: str, least: int) -> None:
    steps = 1500
    data = load_texts(corpus, train=20_000, validation=1000, least=least)
    model = small_reader(len(data.vocabulary), corpus)
    record = follow([lambda: reading_course(data, model, corpus)], [0, steps])
    folder = BUNDLED / FOLDER / f"example-{corpus}"
    shutil.rmtree(folder, ignore_errors=True)
    about = {
        "what": "texts",
        "corpus": corpus,
        "steps": steps,
        "accuracy": float(record.last("accuracy")[0]),
        "created": "",
        "words": vocabulary_digest([data.vocabulary]),
    }
    texts = ReaderTexts(data.classes, EXAMPLES[corpus], data.vocabulary, data.words)
    weights = {name: value.half() for name, value in model.state_dict().items()}
    write_model(folder, about, weights, texts)


def training() -> None:
    """A live training of error mode 1, each start with what its page shows at the end."""
    with _client() as client:
        job = {"task": "error-mode-1", "paradigms": EXAMPLE_PARADIGMS, "seeds": 12, "epochs": 100}
        name = client.post("/api/jobs", json=job).json()["id"]
        whole = _when(client, name, "done")
        seeds = whole["setup"]["seeds"]
        answers = {seed: client.get(f"/api/jobs/{name}", params={"seed": seed}).json()
                   for seed in seeds}  # fmt: skip
    keys = ("seed", "curves", "details")
    shared = {key: value for key, value in whole.items() if key not in keys}
    by_seed = {seed: {key: answer[key] for key in keys} for seed, answer in answers.items()}
    write_bundled_json("training", {"job": {**shared, "id": EXAMPLE}, "by_seed": by_seed})


def readings() -> None:
    """What the bundled text models make of their example texts."""
    answers: dict[str, Any] = {}
    with _client() as client:
        for corpus, texts in EXAMPLES.items():
            model = f"example-{corpus}"
            name = client.post("/api/text-models", json={"model": model}).json()["id"]
            _when(client, name, "ready")
            asked = {t: client.post(f"/api/text-models/{name}", json={"text": t}) for t in texts}
            answers[model] = {text: answer.json() for text, answer in asked.items()}
    write_bundled_json("readings", answers)


@contextmanager
def _client() -> Iterator[TestClient]:
    """A lab in this process."""
    app = create_app()
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def _when(client: TestClient, name: str, state: str) -> dict[str, Any]:
    """The job once it is in a state."""
    while True:
        job: dict[str, Any] = client.get(f"/api/jobs/{name}").json()
        if job["state"] == state:
            return job
        if job["state"] in ("failed", "stopped"):
            raise SystemExit(f"{name} has {job['state']}: {job['reason']}")
        time.sleep(0.2)


def claims() -> None:
    """The figures of the claims whose runs are on this machine; earlier ones of the others stay."""
    here, shipped = ledger_at("small"), shipped_ledger()
    assert here is not None, "no study was run on this machine: foveate run NAME"
    charts = {name: experiment_charts(run) for name, run in here.runs.items()}
    findings = {entry.claim: entry.finding for entry in here.entries}
    figures: dict[str, Any] = bundled_json("claims") if _has("claims") else {}
    for entry in shipped.entries:
        local_finding, finding = findings.get(entry.claim), entry.finding
        chart = charts.get(entry.experiment, {}).get(finding.figure) if finding else None
        if local_finding is None or finding is None or chart is None:
            continue
        source = f"Drawn from a run at {here.versions[entry.experiment]['scale']} scale."
        if local_finding.verdict != finding.verdict:
            source += f" That run alone gives “{local_finding.verdict}”; the verdict is "
            source += "that of the stored run."
        spec = _rounded(vega_spec(chart))
        figures[entry.claim] = {"name": finding.figure, "spec": spec, "source": source}
    known = {entry.claim for entry in shipped.entries if entry.finding}
    size = write_bundled_json("claims", {k: v for k, v in figures.items() if k in known})
    print(f"figures of {len(figures)} of {len(known)} claims, {size / 1e6:.2f} MB")


def _has(name: str) -> bool:
    return (BUNDLED / f"{name}.json.gz").exists()


def _rounded(value: Any) -> Any:
    """Numbers with five significant digits, which no figure can tell from the exact ones."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _fresh(name: str) -> Path:
    shutil.rmtree(RUNS / name, ignore_errors=True)
    RUNS.mkdir(parents=True, exist_ok=True)
    return RUNS / name


def _seal(folder: Path) -> None:
    """Remove what belongs to this machine: lock and paths; write the report again."""
    run = open_run(folder)
    command = " ".join(Path(word).name for word in str(run.manifest.get("command", "")).split())
    run.update(command=command)
    _foveate("report", folder.name, cwd=str(folder.parent))
    (folder / ".lock").unlink(missing_ok=True)
    texts = [path for path in folder.rglob("*") if path.suffix in (".json", ".html", ".csv")]
    local_paths = str(Path.home()), str(RUNS.parents[2]), tempfile.gettempdir()
    named = [
        path
        for path in texts
        for local_path in local_paths
        if local_path in path.read_text("utf-8")
    ]
    assert not named, f"these files name a path of this machine: {named}"


def _foveate(*arguments: str, cwd: str | None = None) -> None:
    subprocess.run([sys.executable, "-m", "foveate", *arguments], check=True, cwd=cwd)


PARTS = {
    "explorable": explorable,
    "training": training,
    "race": race,
    "fit": fit,
    "words": words,
    "readings": readings,
    "claims": claims,
}


def main(names: list[str]) -> None:
    """Make the named results, or all, and print the total size."""
    torch.set_num_threads(1)
    for name in names or PARTS:
        PARTS[name]()
    total = sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file())
    print(f"bundled results: {total / 1e6:.1f} MB of at most {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
