"""The interactive explanation: its tables are the library's, and its pages need no server."""

import base64
import json
import re

import numpy as np
import pytest
import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.lab.bundled import LARGEST, bundled_json
from foveate.lab.explorable import incentive
from foveate.lab.export import SIZES, export_pages
from foveate.lab.server.flow import annotated_flow
from foveate.models.focus import FCAM


@pytest.mark.parametrize("name", ["soft", "hard", "lvml"])
def test_the_incentive_is_the_slope_of_the_loss(name):
    """Against a finite difference of the loss along attention moved to the relevant segment."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = FCAM(nn.Linear(2, 1), nn.Linear(2, 3)).double()
        x = torch.randn(5, 4, 2, dtype=torch.float64)
    z = torch.zeros(5, 4, dtype=torch.bool)
    z[torch.arange(5), torch.tensor([0, 1, 2, 3, 0])] = True
    bag = Bag(x, torch.tensor([0, 1, 2, 0, 1]), z)
    paradigm = PARADIGMS.get(name)().objective()
    with torch.no_grad():
        focus = model.attend(bag.x, None)
        on = (focus.alpha * z).sum(1, keepdim=True)

        def loss(step):
            rest = focus.alpha * (1 - on - step) / (1 - on)
            return paradigm.loss(torch.where(z, on + step, rest), focus.h, model.g, bag.y).mean()

        slope = -(loss(1e-6) - loss(-1e-6)) / 2e-6
    assert incentive(model, paradigm, bag) == pytest.approx(float(slope), rel=1e-5)


def test_the_bundled_tables_show_soft_attention_stall():
    content = bundled_json("explorable")
    cells, moments = content["cells"], len(content["t"])
    for table in content["paradigms"].values():
        weights = np.frombuffer(base64.b64decode(table["weights"]), np.float32)
        weights = weights.reshape(moments, cells * cells)
        np.testing.assert_array_equal(weights.max(1), 1)
        p = np.frombuffer(base64.b64decode(table["p"]), np.uint8)
        p = p.reshape(moments, cells * cells, len(content["classes"]))
        assert np.abs(p.sum(2).astype(int) - 255).max() <= len(content["classes"])
    soft, hard = (content["paradigms"][name] for name in ("soft", "hard"))
    assert soft["accuracy"][-1] == hard["accuracy"][-1] == 1
    assert soft["incentive"][-1] < 0.2 * max(soft["incentive"])
    assert hard["incentive"][-1] == max(hard["incentive"])
    assert soft["alpha"][-1] < hard["alpha"][-1]


def test_exported_pages_hold_all_they_name(tmp_path):
    folder = tmp_path / "site"
    assert export_pages(folder) < LARGEST
    index = (folder / "index.html").read_text()
    for path in re.findall(r'(?:href|src)="(\./[^"]+)"', index):
        assert (folder / path).is_file(), path
    assert not re.search(r'(?:href|src)="/', index)
    assert "data-exported" in index
    stored = json.loads((folder / "data" / "flow_m-20_classes-20_until-3000.json").read_text())
    assert stored == annotated_flow(20, 20, 3000.0, None, None, 160)
    offered = (folder / "pages" / "views" / "flow_section.js").read_text()
    for name, sizes in SIZES.items():
        assert f"{name}: [{', '.join(map(str, sizes))}]" in offered
    with pytest.raises(FoveateError, match="is not empty"):
        export_pages(folder)
