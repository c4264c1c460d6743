"""dstack's own validator on task configurations: python check_dstack.py FILE...; prints what it read as JSON."""

import json
import sys
from pathlib import Path

import yaml
from dstack._internal.core.models.configurations import parse_run_configuration

found = []
for file in sys.argv[1:]:
    read = parse_run_configuration(yaml.safe_load(Path(file).read_text()))
    gpu = read.resources.gpu
    found.append(
        {
            "name": read.name, "type": read.type, "gpu": gpu.name, "count": gpu.count.min, "memory": gpu.memory.min,
            "max_price": read.max_price, "max_duration": read.max_duration, "env": dict(read.env.items()) and list(read.env),
            "backends": [one.value for one in read.backends or []],
            "files": [[one.local_path, one.path] for one in read.files],
        }
    )  # fmt: skip
print("RESULT " + json.dumps(found, default=str))
