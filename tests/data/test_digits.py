"""The digits are read without importing scikit-learn."""

import subprocess
import sys
from importlib import util

import numpy as np
from sklearn.datasets import load_digits

from foveate.data import digits


def test_the_file_holds_what_scikit_learn_loads():
    images, labels = load_digits(return_X_y=True)
    np.testing.assert_array_equal(digits._table(), np.column_stack([images, labels]))


def test_a_version_that_keeps_the_file_elsewhere_is_asked(monkeypatch):
    expected = digits._table()
    monkeypatch.setattr(digits, "find_spec", lambda name: util.find_spec("json"))
    np.testing.assert_array_equal(digits._table(), expected)


def test_loading_imports_no_scikit_learn():
    code = (
        "import sys, foveate; foveate.load('digits', n=5, m=3); sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
