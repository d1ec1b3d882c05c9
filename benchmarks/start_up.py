"""How long ``foveate --help`` takes, and that it does not import torch; against importing torch."""

import subprocess
import sys
import time


def seconds(code: str) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    ask = "import sys; from foveate.cli import main; main(['--help']); "
    ask += "assert 'torch' not in sys.modules"
    help_time, torch_time = seconds(ask), seconds("import torch")
    ratio = torch_time / help_time
    print(f"foveate --help {help_time:.2f} s, import torch {torch_time:.2f} s, ratio {ratio:.1f}")
