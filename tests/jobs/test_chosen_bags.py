"""Which bags a report shows."""

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.jobs.race import pick_gallery
from foveate.records.record import Record

N = 5


def read_as(attended, right):
    """A record whose one member looks at the relevant first segment of some bags, right in some."""
    s = np.where(np.array(attended)[:, None], [1.0, 0.0], [0.0, 1.0])[None]
    log_p = np.log(np.where(np.array(right)[:, None], [0.9, 0.1], [0.1, 0.9]))[None]
    return Record(np.zeros(1), {}, {"s": s, "log_p": log_p}, {})


def test_bags_on_which_paradigms_differ_come_first_then_sound_then_wrong_ones():
    z = torch.zeros(N, 2, dtype=torch.bool)
    z[:, 0] = True
    bag = Bag(torch.arange(2.0 * N).view(N, 2, 1), torch.zeros(N, dtype=torch.long), z)
    #         bag: 0 all astray; 1 one astray; 2 sound; 3 one wrong; 4 two astray of three
    records = {
        "a": read_as([0, 0, 1, 1, 0], [1, 1, 1, 0, 1]),
        "b": read_as([0, 1, 1, 1, 0], [1, 1, 1, 1, 1]),
        "c": read_as([0, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    }
    gallery = pick_gallery(records, bag)
    assert gallery["rows"].tolist() == [4, 1, 0, 2, 3]
    assert gallery["segments"][0, :, 0].tolist() == [8.0, 9.0]
