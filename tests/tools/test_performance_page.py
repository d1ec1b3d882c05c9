"""The page on performance is made from the stored run."""

import json

import performance_page


def test_the_page_in_the_docs_is_that_of_the_stored_run():
    stored = json.loads(performance_page.STORED.read_text())
    assert performance_page.PAGE.read_text() == performance_page.page(stored)


def test_rows_say_whether_the_goal_is_met_or_why_they_were_not_run():
    machine = {
        "processor": "p",
        "cores": 2,
        "threads": 1,
        "python": "3",
        "versions": {},
    }
    numbers = {"what": "growth in bags", "ratio": 1.5, "spread": [1.25, 2.0]}
    grown = numbers | {"ratio": 0.9, "slope": 1.11, "memory_slope": 0.8, "peak_mb": {"10": 3.2}}
    rows = [
        {"work": "a", "command": "python a", "goal": 1, "numbers": numbers},
        {"work": "b", "command": "python b", "goal": 1, "numbers": grown},
        {"work": "c", "command": "python c", "goal": 2, "error": "No module named 'jax'"},
    ]
    text = performance_page.page({"machine": machine, "rows": rows})
    assert "| a | 1.5 | 1.25 … 2 | 1 | met |" in text
    assert "| b | 0.9 | 1.25 … 2 | 1 | not met |" in text
    assert "| c | – | – | 2 | not run: No module named 'jax' |" in text
    assert "| growth in bags | 1.11 | 0.80 | 10: 3 |" in text
    assert "All rows are from an earlier run." in text
    run = {"date": "2026-01-02", "load": 0.5, "source": "a"}
    text = performance_page.page({"machine": machine, "rows": [row | run for row in rows]})
    assert "Measured on 2026-01-02, load 0.5 to 0.5, all with the same code." in text
    text = performance_page.page({"machine": machine, "rows": [rows[0] | run, *rows[1:]]})
    assert "2 of 3 rows are from an earlier run." in text
