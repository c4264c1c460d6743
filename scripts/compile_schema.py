"""Write the shipped JSON Schema of the job file: python scripts/compile_schema.py."""

from __future__ import annotations

import json

from breakeven.jobs.schema import SCHEMA_FILE, job_schema

if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(job_schema(), indent=1) + "\n", encoding="utf-8")
