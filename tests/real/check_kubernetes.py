"""Kubernetes' published schema on manifests, strictly: python check_kubernetes.py FILE..."""

import json
import sys
from pathlib import Path

import kubernetes_validate
import yaml

for file in sys.argv[1:]:
    for document in yaml.safe_load_all(Path(file).read_text()):
        if document["kind"] != "Kustomization":
            kubernetes_validate.validate(document, "1.33", strict=True)
print("RESULT " + json.dumps(kubernetes_validate.__version__))
