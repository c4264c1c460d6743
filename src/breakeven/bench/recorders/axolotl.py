"""Records the steps of axolotl from the inside. In its configuration:

plugins: [breakeven.bench.recorders.axolotl.StepPlugin]
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from axolotl.integrations.base import BasePlugin

from breakeven.bench.recorders.hugging_face import StepRecorder


class StepPlugin(BasePlugin):  # type: ignore[misc]
    """Adds the recorder of `recorders.hugging_face` to axolotl's trainer."""

    def add_callbacks_post_trainer(self, cfg: Any, trainer: Any) -> list[StepRecorder]:
        """The recorder, for the trainer that was made."""
        return [StepRecorder(framework=f"axolotl {version('axolotl')}")]
