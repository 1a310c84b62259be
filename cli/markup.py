"""HTML from Python values: every text is escaped, and only what `tag` made is taken as markup."""

from html import escape


class Markup(str):
    """Text that is HTML already. Made by `tag`, and of what this package itself wrote."""

    __slots__ = ()


def text(value):
    """A value as HTML text."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def tag(element, *children, **attributes):
    """An element; a list of children is flattened, an attribute that is None or False is left out; class_ is class, data_v is data-v.

    >>> tag("td", "<b>", class_="n", data_v=3, hidden=True)
    '<td class="n" data-v="3" hidden>&lt;b&gt;</td>'
    """
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None and value is not False}
    said = "".join(f" {name}" if value is True else f' {name}="{escape(str(value))}"' for name, value in given.items())
    return Markup(f"<{element}{said}>{joined(children)}</{element}>")


def joined(children):
    """Children one after another."""
    return Markup("".join(joined(child) if isinstance(child, list | tuple) else text(child) for child in children if child is not None))
