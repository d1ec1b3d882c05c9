import sys

import pytest

from foveate.errors import FoveateError
from foveate.registry import Registry


def shapes():
    registry = Registry("shape")
    for name in ("square", "circle", "triangle"):
        registry.register(name)(name.upper())
    return registry


def test_names_are_in_order_of_registration():
    registry = shapes()
    assert registry.names() == ["square", "circle", "triangle"]
    assert list(registry.items())[1] == ("circle", "CIRCLE")
    assert registry.get("triangle") == "TRIANGLE"
    assert "circle" in registry
    assert "circl" not in registry


def test_register_returns_the_object():
    registry = Registry("shape")

    @registry.register("dot")
    def dot():
        return 1

    assert dot() == 1
    assert registry.get("dot") is dot


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("sqare", r"^unknown shape 'sqare'. Did you mean 'square'\?$"),
        ("Circle", r"^unknown shape 'Circle'. Did you mean 'circle'\?$"),
        ("zzz", r"^unknown shape 'zzz'. Known: square, circle, triangle\.$"),
        ("", r"^unknown shape ''. Known: square, circle, triangle\.$"),
    ],
)
def test_unknown_names_suggest_the_nearest(name, sentence):
    with pytest.raises(FoveateError, match=sentence):
        shapes().get(name)


def test_names_are_unique():
    registry = shapes()
    with pytest.raises(FoveateError, match="shape 'circle' is registered twice"):
        registry.register("circle")("another")
    assert registry.get("circle") == "CIRCLE"


def test_a_file_dropped_into_the_package_is_found(tmp_path, monkeypatch):
    package = tmp_path / "dropbox_of_shapes"
    package.mkdir()
    head = "from foveate.registry import Registry\n"
    (package / "__init__.py").write_text(head + "SHAPES = Registry('shape', __name__)\n")
    for name in ("oval", "arc"):
        text = f"from dropbox_of_shapes import SHAPES\nSHAPES.register('{name}')('{name} itself')\n"
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    from dropbox_of_shapes import SHAPES

    assert "dropbox_of_shapes.oval" not in sys.modules  # nothing is imported before it is asked for
    assert SHAPES.names() == ["arc", "oval"]
    assert SHAPES.get("oval") == "oval itself"
    with pytest.raises(FoveateError, match="Did you mean 'oval'"):
        SHAPES.get("ovl")
    for name in [name for name in sys.modules if name.startswith("dropbox_of_shapes")]:
        monkeypatch.delitem(sys.modules, name)
