"""One file a task; a task is found by its `@register` name."""
