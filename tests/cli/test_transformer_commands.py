"""read, align and trust with saved transformers, as a user types them."""

import csv
import json

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.jobs.examine_files import ExamineRequest, examine_files
from foveate.metrics.agreement import contextual, fair_agreement
from foveate.metrics.alignment import alignment_scores, read_pharaoh
from foveate.text.transformers.encoder import TextEncoder
from foveate.text.transformers.translation import (
    influence,
    piece_pairs,
    read_attention,
    read_evidence,
)
from text.tiny_transformers import WORDS, classifier, tokenizer, translator

from .typed import complain, contents, succeed


def right_bert():
    """A Bert of one layer made by hand: CLS looks at "good", and its value decides the class."""
    model = classifier(
        "Bert", num_hidden_layers=1, num_attention_heads=1, id2label={0: "no", 1: "yes"}
    )
    layer, size = model.bert.encoder.layer[0], 16
    with torch.no_grad():
        for part in model.parameters():
            part.zero_()
        for name, part in model.named_parameters():
            if "LayerNorm.weight" in name:
                part.fill_(1.0)
        table = model.bert.embeddings.word_embeddings.weight
        table.copy_(torch.eye(size))
        attention = layer.attention.self
        attention.query.bias[0] = 10.0
        attention.key.weight[0, WORDS.index("good")] = 4.0
        attention.value.weight[1, WORDS.index("good")] = 3.0
        layer.attention.output.dense.weight.copy_(torch.eye(size))
        layer.output.dense.weight.zero_()
        model.bert.pooler.dense.weight.copy_(torch.eye(size))
        model.classifier.weight[1, 1] = 12.0
        model.classifier.bias[1] = -3.0
    return model


@pytest.fixture
def reviews(workdir):
    """Texts that say "good" somewhere, or not; a saved Bert that finds it."""
    rng = np.random.default_rng(0)
    others = ["film", "a", "the", "very", "dull", "it", "was", "plot", "seen"]
    with (workdir / "reviews.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for i in range(80):
            words = rng.choice(others, 7).tolist()
            if i % 2:
                words[int(rng.integers(7))] = "good"
            rows.writerow([" ".join(words), "yes" if i % 2 else "no"])
    right_bert().save_pretrained(workdir / "bert")
    tokenizer().save_pretrained(workdir / "bert")
    return workdir


def test_read_with_a_saved_classifier(reviews):
    output = succeed("read", "reviews.csv", "--model", "bert", "--out", "page.html")
    assert "100 % of texts right" in output
    numbers = json.loads((reviews / "page.numbers.json").read_text())
    assert numbers["texts"] == 80
    assert numbers["accuracy"] == 1.0
    with (reviews / "page.tokens.csv").open() as file:
        tokens = list(csv.DictReader(file))
    assert len(tokens) == 80 * 7
    good = [row for row in tokens if row["word"] == "good"]
    other = [row for row in tokens if row["word"] != "good" and int(row["row"]) % 2]
    assert min(float(row["alpha"]) for row in good) > 0.9
    assert min(float(row["beta"]) for row in good) > max(float(row["beta"]) for row in other)
    assert numbers["agreement"]["alpha, beta"]["A_fair"] > 0.5
    assert not (reviews / "page.model.safetensors").exists()
    assert "Texts as bert reads them" in (reviews / "page.html").read_text()


def test_explain_with_a_saved_classifier(reviews):
    arguments = ("explain", "bert", "reviews.csv", "--out", "words.csv", "--page", "page.html")
    assert "80 texts, bert, ranked by posterior" in succeed(*arguments)
    with (reviews / "words.csv").open() as file:
        words = list(csv.DictReader(file))
    assert len(words) == 80 * 7
    encoder = TextEncoder(right_bert(), tokenizer())
    text = [row["text"] for row in words[7:14]]
    read, folder = encoder.read([text]), text.index("good")
    np.testing.assert_allclose([float(r["attention"]) for r in words[7:14]], read.alpha[0], 1e-6)
    one_hot = [np.eye(7)[folder]]
    p = encoder.forced([text], one_hot)[0]  # of the classes no, yes
    assert float(words[7 + folder]["evidence_yes"]) == pytest.approx(np.log(p[1] / p[0]) / 2, 1e-5)
    assert words[7 + folder]["rank"] == "1"
    page = (reviews / "page.html").read_text()
    assert "foveate trust --model bert --data reviews.csv" in page
    assert "label not known" not in page
    refused = complain("explain", "bert", "reviews.csv", "--out", "x.csv", "--paradigm", "soft")
    assert "--paradigm is for a fit" in refused
    assert not (reviews / "x.csv").exists()


def test_a_saved_classifier_gets_a_verdict_and_is_named_contextual_or_not(reviews):
    result = examine_files(ExamineRequest("reviews.csv", model="bert", absent=("no",)))
    assert result["paradigm"] == "BertForSequenceClassification"
    assert "pieces merged to words" in result["notes"][0]
    yes = result["by_class"][result["classes"].index("yes")]
    assert yes["estimate"] > 0.9
    assert yes["accuracy"] == 1.0
    assert yes["verdict"]["grade"] == "trust with care"
    bags = read_bags("reviews.csv")
    for bag in result["examples"]:
        start = sum(bags.bag.mask[: bags.ids.index(bag["bag"])].sum(1).tolist())
        assert bag["word"] == bags.words[start + bag["segment"]]


def test_a_deep_encoder_is_contextual(reviews):
    import foveate

    model = classifier("Bert")
    bags = read_bags("reviews.csv", labelled=True)
    trust = foveate.examine([model, model], bags, tokenizer=tokenizer(), probe=False)
    assert all("Segments see each other" in entry["context"] for entry in trust.by_class)
    assert all(entry["verdict"]["grade"] != "trust" for entry in trust.by_class)


@pytest.fixture
def pairs(workdir):
    """Two files of sentences, gold links, and a saved Marian."""
    (workdir / "s.txt").write_text("good film\nthe plot was dull\nbadly seen\n")
    (workdir / "t.txt").write_text("film good\ndull was the plot\nseen badly\n")
    (workdir / "gold.txt").write_text("0-1 1-0\n\n0-1 1-0\n")
    translator("Marian").save_pretrained(workdir / "marian")
    tokenizer().save_pretrained(workdir / "marian")
    return workdir


def test_align_by_the_attention_of_a_saved_model(pairs):
    arguments = ("align", "s.txt", "t.txt", "--method", "attention", "--model", "marian")
    output = succeed(
        *arguments, "--out", "links.txt", "--gold", "gold.txt", "--report", "page.html"
    )
    links = read_pharaoh(pairs / "links.txt")
    source = [line.split() for line in (pairs / "s.txt").read_text().splitlines()]
    target = [line.split() for line in (pairs / "t.txt").read_text().splitlines()]
    alpha = read_attention(translator("Marian"), piece_pairs(tokenizer(), source, target))
    expected = [{(int(row.argmax()), t) for t, row in enumerate(alpha[i])} for i in range(3)]
    assert links == expected
    gold = read_pharaoh(pairs / "gold.txt")
    score = alignment_scores([links[0], links[2]], [gold[0], gold[2]], [gold[0], gold[2]])
    assert f"AER       {score.aer:.3f}" in output
    assert "scored on the 2 of 3 pairs" in output
    succeed(*arguments, "--out", "other.txt", "--layer", "0", "--head", "1")
    one = read_attention(translator("Marian"), piece_pairs(tokenizer(), source, target), 0, 1)
    assert read_pharaoh(pairs / "other.txt")[1] == {
        (int(row.argmax()), t) for t, row in enumerate(one[1])
    }


def test_bad_arguments_are_one_sentence_and_write_nothing(pairs, reviews):
    def refuse(*arguments):
        before = contents(pairs)
        output = complain(*arguments)
        assert contents(pairs) == before
        return output

    align = ("align", "s.txt", "t.txt", "--out", "links.txt")
    assert "--model is for --method attention" in refuse(*align, "--model", "marian")
    attention = (*align, "--method", "attention")
    assert "needs both directions" in refuse(
        *attention, "--model", "marian", "--symmetrise", "grow"
    )
    assert "are for --model" in refuse(*attention, "--layer", "0")
    assert "layer must be from 0 to 0" in refuse(*attention, "--model", "marian", "--layer", "3")
    assert "no encoder–decoder" in refuse(*attention, "--model", "bert")
    assert "must be a folder" in refuse(*attention, "--model", "nothing")
    read = ("read", "reviews.csv", "--out", "page.html")
    assert "--steps is for training" in refuse(*read, "--model", "bert", "--steps", "5")
    assert "no column of source sentences" in refuse(*read, "--model", "marian")
    assert "are for an encoder–decoder" in refuse(*read, "--model", "bert", "--checkpoints", "x")
    request = ExamineRequest("reviews.csv", model="bert", weights="w.safetensors")
    with pytest.raises(FoveateError, match="holds its weights"):
        examine_files(request)


def test_classes_are_matched_by_name(workdir):
    (workdir / "texts.csv").write_text("text,label\ngood film,pos\ndull plot,neg\n")
    model = classifier("Bert", id2label={0: "POS", 1: "NEG"})
    model.save_pretrained(workdir / "bert")
    tokenizer().save_pretrained(workdir / "bert")
    succeed("read", "texts.csv", "--model", "bert", "--out", "page.html")
    p = TextEncoder(model, tokenizer()).read([["good", "film"], ["dull", "plot"]]).p
    right = np.mean([p[0].argmax() == 0, p[1].argmax() == 1])
    assert json.loads((workdir / "page.numbers.json").read_text())["accuracy"] == right
    (workdir / "texts.csv").write_text("text,label\ngood film,pos\ndull plot,bad\n")
    assert "no class 'bad'" in complain("read", "texts.csv", "--model", "bert")


def test_read_pairs_with_checkpoints_of_a_translator(workdir):
    lines = ["source,target", "good film,film good", "the plot was dull,dull was the plot"]
    (workdir / "pairs.csv").write_text("\n".join(lines))
    models = [translator("Bart", 2, seed=seed) for seed in range(3)]
    for k, model in enumerate(models):
        model.save_pretrained(workdir / f"step{k}")
        tokenizer().save_pretrained(workdir / f"step{k}")
    earlier = ["--checkpoints", "step0", "--checkpoints", "step1"]
    output = succeed("read", "pairs.csv", "--model", "step2", *earlier, "--out", "page.html")
    source = [["good", "film"], ["the", "plot", "was", "dull"]]
    target = [["film", "good"], ["dull", "was", "the", "plot"]]
    pairs = piece_pairs(tokenizer(), source, target)
    alpha, beta = read_attention(models[2], pairs), read_evidence(models[2], pairs)
    delta = influence(models[2], pairs)
    with (workdir / "page.tokens.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 + 16
    for name, values in (("alpha", alpha.values), ("beta", np.exp(beta.values)),
                         ("delta", delta.values)):  # fmt: skip
        np.testing.assert_allclose([float(row[name]) for row in rows], values, rtol=1e-5)
    assert (rows[5]["target_word"], rows[5]["source_word"]) == ("dull", "plot")
    numbers = json.loads((workdir / "page.numbers.json").read_text())
    fair = fair_agreement(alpha.values, beta.values, alpha.start).mean()
    assert numbers["agreement"]["alpha, beta"]["A_fair"] == pytest.approx(fair)
    curve = [
        fair_agreement(alpha.values, read_attention(m, pairs).values, alpha.start).mean()
        for m in models
    ]
    series = numbers["checkpoints"]
    assert series["alpha, last alpha"] == pytest.approx(curve)
    level = contextual(fair, np.array(curve), np.array(series["accuracy"]))
    assert (series["xi"], series["xi_checkpoint"]) == (level.performance, level.checkpoint)
    assert "ξ(α, β)" in output
    assert "Where step2 looks in pairs.csv" in (workdir / "page.html").read_text()
