"""One file a task; a task is found by its `@register` name."""

from pathlib import Path

from attnprobe.probes.registry import Registry

TASKS = Registry(Path(__file__).parent, __name__, "task")
