"""The changelog has the form of Keep a Changelog, newest version first."""

import re

import foveate
from doc_pages import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text("utf-8")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_versions_have_dates_and_fall():
    headings = re.findall(r"^## (.+)$", TEXT, re.M)
    result = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})", h) for h in headings]
    assert all(result), headings
    versions = [tuple(int(n) for n in match.groups()[:3]) for match in result]
    assert versions == sorted(set(versions), reverse=True)
    assert ".".join(map(str, versions[0])) == foveate.__version__


def test_changes_are_sorted_by_kind():
    for version in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        kinds = re.findall(r"^### (.+)$", version, re.M)
        assert kinds
        assert set(kinds) <= KINDS
        assert len(kinds) == len(set(kinds))
