"""What tests of a user's files share: a table of bags, sending it, waiting for what it becomes."""

import csv
import io
import time

import numpy as np

__all__ = ["reached", "send_file", "stored_files", "table", "wait_until_removed", "write_bags"]


def table(bags=90):
    """Bags of four segments of two numbers; in "sick" bags one of them is far from the rest."""
    chance = np.random.default_rng(0)
    file = io.StringIO()
    write = csv.writer(file)
    write.writerow(["bag", "label", "a", "b", "relevance"])
    for k in range(bags):
        sick, position = k % 2, chance.integers(4)
        for j in range(4):
            relevant = int(sick and j == position)
            write.writerow([f"s{k}", ["well", "sick"][sick], *chance.normal(4 * relevant, 0.5, 2),
                            relevant])  # fmt: skip
    return file.getvalue().encode()


def send_file(client, name, content, **parameters):
    return client.post("/api/uploads", params={"name": name, **parameters}, content=content)


def reached(client, name, *states, seconds=600):
    """The job of a name once it is in one of some states."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        job = client.get(f"/api/jobs/{name}").json()
        if job["state"] in states:
            return job
        time.sleep(0.05)
    raise AssertionError(f"still {job['state']}: {job['reason']}")


def stored_files(folder):
    """The uploaded files that are stored; runs of other tests may have left theirs."""
    return set((folder / "lab-files").glob("*"))


def wait_until_removed(folder, before):
    """Waits until no more files are stored than before."""
    for _ in range(200):
        if stored_files(folder) <= before:
            return
        time.sleep(0.05)
    raise AssertionError("a file was left behind")


def write_bags(file):
    """Bags of four segments of two numbers; in "sick" bags one of them is far from the rest."""
    chance = np.random.default_rng(0)
    rows = ["case,diagnosis,a,b"]
    for i in range(90):
        position = chance.integers(4)
        for j in range(4):
            a, b = chance.normal(4 * (i % 2 and j == position), 0.5, 2).round(3)
            rows.append(f"case {i},{['well', 'sick'][i % 2]},{a},{b}")
    file.write_text("\n".join(rows))
