import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_its_script_writes() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "compile_models_doc.py"))
    written = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    assert written == script["page"](), "run python scripts/compile_models_doc.py"
