"""Metadata of paradigms: one registered class appears everywhere without further edits."""

import pytest

from foveate.attention.paradigms import PARADIGMS, Hard, Hybrid, Soft, WithEntropy, Witness
from foveate.charts.palette import colour, dash, label, paradigm_class, shape
from foveate.training.plan import Race, default_paradigms


@pytest.fixture
def top_two():
    """A paradigm registered for one test."""

    class TopTwo(Soft):
        """Reads the two most attended segments."""

        label = "Top two"
        colour = "#123456"
        dash = (7, 7)
        shape = "wedge"
        raced_by_default = True

    PARADIGMS.register("top-two")(TopTwo)
    yield TopTwo
    del PARADIGMS._items["top-two"]


def test_a_registered_paradigm_is_shown_with_its_own_label_and_colour(top_two):
    assert paradigm_class("top-two") is top_two
    assert (label("top-two"), colour("top-two")) == ("Top two", "#123456")
    assert (dash("top-two"), shape("top-two")) == ((7, 7), "wedge")


def test_a_registered_paradigm_is_offered_in_races_and_in_the_lab(top_two):
    from foveate.lab.requests import lab_paradigms
    from foveate.lab.server.theme import chart_theme

    assert default_paradigms()[-1] == "top-two"
    assert Race().paradigms[-1] == "top-two"
    assert "top-two" in lab_paradigms()
    assert chart_theme()["paradigms"]["top-two"]["label"] == "Top two"


def test_a_registered_paradigm_is_listed(top_two, capsys):
    from foveate.cli.tables import print_registered

    print_registered("paradigms")
    assert "top-two" in capsys.readouterr().out


def test_the_setting_switch_applies_to_those_that_declare_it():
    switched = {name for name, kind in PARADIGMS.items() if kind.has_switch}
    assert switched == {"hybrid"}
    assert PARADIGMS.get("hybrid").from_settings(switch=0.3) == Hybrid(switch=0.3)
    for name, kind in PARADIGMS.items():
        if name not in switched:
            assert kind.from_settings(switch=0.3) == kind()


def test_the_epoch_of_a_switch_and_the_labels_of_phases():
    assert Hybrid(switch=0.5).switch_epoch(9) == 4
    assert WithEntropy(Hybrid(switch=3)).switch_epoch(9) == 3
    assert Hybrid(switch="plateau").switch_epoch(9) is None
    assert Soft().switch_epoch(9) is None
    assert not WithEntropy(Hybrid(switch="plateau")).fixed_schedule
    assert Witness().fixed_schedule
    assert WithEntropy(Hybrid()).phase_labels == ("Soft", "Hard")


def test_flags_of_composed_paradigms_are_those_of_their_parts():
    assert Hybrid().selects == Hard().selects
    assert WithEntropy(Hybrid()).selects
    assert not Hybrid(phases=(Hard(), Soft())).per_segment
    assert WithEntropy(Hybrid()).fresh_optimizer


@pytest.mark.parametrize("name", PARADIGMS.names())
def test_every_registered_paradigm_declares_a_colour_and_needs_no_arguments(name):
    kind = PARADIGMS.get(name)
    assert colour(name) == kind.colour
    assert kind.__doc__
    assert kind().calls(5) >= 1


def test_declared_colours_are_distinct():
    declared = [kind.colour for _, kind in PARADIGMS.items()]
    assert len(set(declared)) == len(declared)
