"""What a shell completes: the parts of an arm; names of tasks and options come from the commands themselves."""


def arms(incomplete: str):
    """Specs that go on from what was typed: the parts of axes that it does not name yet, from the source, importing none of them."""
    from attnprobe.probes.spec import aliases, axis_of

    at = max(incomplete.rfind(mark) for mark in "+/>") + 1
    layer = incomplete[max(incomplete.rfind(mark) for mark in "/>") + 1 : at]
    used = {axis_of().get(part.partition("(")[0]) for part in layer.split("+") if part}
    names = [name for name, axis in axis_of().items() if axis not in used] + ([] if layer else list(aliases()))
    return [incomplete[:at] + name for name in names if name.startswith(incomplete[at:])]
