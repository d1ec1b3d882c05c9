import sys

from profile_packages import CallCounter


def test_counter_counts_files_packages_and_mutual_pairs(tmp_path):
    """Package a calls b; b calls back through a function of the standard library."""
    for name, code in {
        "a/first.py": "def start(f):\n    return f(helper)\ndef helper(x):\n    return x\n",
        "b/second.py": "def run(g):\n    return list(map(g, [1, 2]))\n",
        "b/unused.py": "def other():\n    pass\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    spaces = []
    for name in ("a/first.py", "b/second.py", "b/unused.py"):
        spaces.append({"__name__": "__main__"})
        exec(compile((tmp_path / name).read_text(), str(tmp_path / name), "exec"), spaces[-1])
    counter = CallCounter(tmp_path)
    sys.setprofile(counter)
    spaces[0]["start"](spaces[1]["run"])
    sys.setprofile(None)
    assert counter.files == {"a/first.py", "b/second.py"}
    assert counter.packages() == {"a", "b"}
    assert counter.mutual_pairs() == {("a", "b")}
    assert counter.calls["b/second.py", "a/first.py"] == 2
