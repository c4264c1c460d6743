"""SkyPilot's own loader and optimizer on task files: python check_skypilot.py FILE..., with HOME a scratch folder.

Its catalogs are replaced by rows of our own, so that no network is needed; prints the best resources as JSON.
"""

import json
import os
import sys
from pathlib import Path

CATALOGS = Path(os.environ["HOME"]) / ".sky" / "catalogs" / "v8"
ROWS = {
    "common/accelerators.csv": [
        "AcceleratorName,Clouds",
        "H100,\"['Lambda', 'RunPod']\"",
        "H100-SXM,\"['RunPod']\"",
        "A100-80GB,\"['Lambda']\"",
    ],
    "lambda/vms.csv": [
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice",
        "gpu_1x_h100_pcie,H100,1.0,26.0,200.0,2.49,us-west-1,,",
        "gpu_1x_a100_80gb,A100-80GB,1.0,30.0,200.0,1.79,us-east-1,,",
    ],
    "runpod/vms.csv": [
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Region,SpotPrice,Price,AvailabilityZone",
        "1x_H100-SXM_SECURE,H100-SXM,1.0,16.0,180.0,,US,1.9,2.69,US-KS-2",
    ],
}
for name, rows in ROWS.items():
    (CATALOGS / name).parent.mkdir(parents=True, exist_ok=True)
    (CATALOGS / name).write_text("\n".join(rows) + "\n")
os.environ["SKYPILOT_DISABLE_USAGE_COLLECTION"] = "1"

import sky  # noqa: E402
from sky import global_user_state, optimizer  # noqa: E402
from sky.clouds import cloud  # noqa: E402

for capability in (cloud.CloudCapability.COMPUTE, cloud.CloudCapability.STORAGE):
    global_user_state.set_enabled_clouds(["Lambda", "RunPod"], capability, "default")
found = []
for file in sys.argv[1:]:
    os.chdir(Path(file).parent)
    with sky.Dag() as dag:
        task = sky.Task.from_yaml(file)
    task.update_secrets([(name, "x") for name in task.secrets or {}])
    task.validate()
    best = optimizer.Optimizer.optimize(dag, quiet=True).tasks[0].best_resources
    found.append({"name": task.name, "instance": best.instance_type, "region": best.region, "cloud": str(best.cloud)})
    found[-1]["usd_per_h"] = best.get_cost(3600)
print("RESULT " + json.dumps(found))
