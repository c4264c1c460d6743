"""A training of sleeps, recorded: python loop.py SECONDS SLOWER STEPS [TOKENS]; an A100 takes SLOWER times as long for a step."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from breakeven import record_steps

seconds, slower, count = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
tokens = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
gpu = json.loads(Path("../task.json").read_text(encoding="utf-8"))["gpu"]
step_s = seconds * (slower if "a100" in gpu else 1.0)
noise = random.Random(gpu)

with record_steps(settings={"seed": 1}) as steps:
    for number in steps.data(range(count)):
        time.sleep(step_s * noise.uniform(0.95, 1.05))
        steps.done(tokens=tokens, loss=2.0 - number / count / 10)
        if steps.should_stop:
            break
