import pytest

from foveate.errors import FoveateError
from foveate.training.plan import Plan, Race, ResolvedRace

SETTLED = {
    "data": "error-mode-1",
    "paradigms": ("soft",),
    "seeds": 2,
    "m": 9,
    "n": 50,
    "n_test": 40,
    "net": "linear",
    "epochs": 2,
    "batch": 10,
    "lr": 0.1,
    "optimizer": "sgd",
}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"epochs": 0}, "epochs: input should be greater than or equal to 1, got 0"),
        ({"epochs": 1.5}, "epochs: input should be a valid integer.*, got 1.5"),
        ({"batch": 0}, "batch: input should be greater than or equal to 1, got 0"),
        ({"lr": -1}, "lr: input should be greater than 0, got -1"),
        ({"lr": 0}, "lr: input should be greater than 0, got 0"),
        ({"lr": float("nan")}, "lr: .*finite number, got nan"),
        ({"lr": (0.1, -0.1)}, "lr: .*got"),
        ({"lr": "fast"}, "lr: .*got 'fast'"),
        ({"optimizer": "adma"}, "optimizer: input should be 'sgd', 'adam' or 'adamw', got 'adma'"),
        ({"momentum": 1}, "momentum: input should be less than 1, got 1"),
        ({"validation": 1}, "validation: input should be less than 1, got 1"),
        ({"validation": -0.1}, "validation: .*, got -0.1"),
        ({"patience": 0, "validation": 0.1}, "patience: .*greater than or equal to 1, got 0"),
        ({"patience": 3}, "^patience needs validation bags: set validation above 0$"),
        ({"stop_below": 0}, "stop-below: input should be greater than 0, got 0"),
        ({"dtype": "half"}, "dtype: input should be 'float32' or 'float64', got 'half'"),
        ({"epoch": 3}, r"^unknown setting 'epoch'. Did you mean 'epochs'\?$"),
        ({"optimiser": "sgd"}, r"^unknown setting 'optimiser'. Did you mean 'optimizer'\?$"),
        ({"zzz": 3}, "^unknown setting 'zzz'$"),
    ],
)
def test_invalid_plans_are_refused_in_one_sentence(values, sentence):
    with pytest.raises(FoveateError, match=sentence) as caught:
        Plan(**values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"seeds": 0}, "seeds: input should be greater than or equal to 1, got 0"),
        ({"entropy": -1}, "entropy: input should be greater than or equal to 0, got -1"),
        ({"paradigms": []}, "paradigms: .*at least 1 item"),
        ({"paradigms": 3}, "paradigms: .*got 3"),
        ({"m": "nine"}, "m: input should be a valid integer.*, got 'nine'"),
        ({"paradigm": "soft"}, r"unknown setting 'paradigm'. Did you mean 'paradigms'\?"),
        ({"equal_compte": True}, r"unknown setting 'equal_compte'. Did you mean 'equal_compute'\?"),
    ],
)
def test_invalid_races_are_refused_in_one_sentence(values, sentence):
    with pytest.raises(FoveateError, match=sentence):
        Race(**values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"m": 1}, "m: input should be greater than or equal to 2, got 1"),
        ({"n": 0}, "n: input should be greater than or equal to 1, got 0"),
        ({"n_test": 0}, "n-test: input should be greater than or equal to 1, got 0"),
        ({"epochs": 0}, "epochs: input should be greater than or equal to 1, got 0"),
        ({"lr": -1}, "lr: input should be greater than 0, got -1"),
        ({"validation": 0.001}, "validation share of 0.001 leaves no bags on one side of 50"),
        ({"validation": 0.999}, "validation share of 0.999 leaves no bags on one side of 50"),
        ({"net": ...}, "net must be given"),
        ({"seeds": ...}, "seeds must be given"),
        ({"data": ...}, "data must be given"),
        ({"paradigms": ...}, "paradigms must be given"),
    ],
)
def test_resolved_race_rejects_missing_or_invalid_values(values, sentence):
    inputs = {k: v for k, v in {**SETTLED, **values}.items() if v is not ...}
    with pytest.raises(FoveateError, match=sentence):
        ResolvedRace(**inputs)


@pytest.mark.parametrize(
    "inputs", ["soft,hard", "soft, hard", ["soft", "hard"], ["soft,hard"], ("soft", " hard ")]
)
def test_words_are_comma_separated_or_a_list(inputs):
    assert Race(paradigms=inputs).paradigms == ("soft", "hard")


def test_labels_may_be_numbers():
    assert Race(foreground=[0, 1, 2]).foreground == ("0", "1", "2")
    assert Race(foreground="0,1").foreground == ("0", "1")
    assert Race(foreground="7").foreground == ("7",)


def test_default_race():
    race = Race()
    assert race.data == "digits"
    assert race.paradigms == ("soft", "hard", "lvml", "hybrid", "witness")
    assert race.seeds == 10
    assert (race.m, race.n, race.epochs) == (None, None, None)


def test_a_plan_is_frozen_and_survives_its_own_dump():
    plan = Plan(epochs=7, lr=(0.1, 0.2), validation=0.25, patience=3)
    assert Plan(**plan.model_dump()) == plan
    with pytest.raises(ValueError, match="frozen"):
        plan.epochs = 8


def test_resolved_race_passes_its_settings_to_the_plan():
    race = ResolvedRace(**SETTLED, validation=0.2, patience=4, stop_below=0.5)
    plan = race.plan(33)
    expected = Plan(
        epochs=33, batch=10, lr=0.1, optimizer="sgd", validation=0.2, patience=4, stop_below=0.5
    )
    assert plan == expected
    assert ResolvedRace(**race.model_dump()) == race


def test_about_thirty_measurements_by_default():
    measured = {epochs: Plan(epochs=epochs).measure_every for epochs in (1, 29, 60, 100, 900)}
    assert measured == {1: 1, 29: 1, 60: 2, 100: 3, 900: 30}
    assert Plan(epochs=900, every=7).measure_every == 7


@pytest.mark.parametrize(
    ("inputs", "switch"), [(0.5, 0.5), (3, 3), ("0.5", 0.5), ("3", 3), ("plateau", "plateau")]
)
def test_switch_is_a_number_or_a_word_in_text(inputs, switch):
    stored = Race(switch=inputs).switch
    assert stored == switch
    assert isinstance(stored, str) == isinstance(switch, str)
