"""Figures of stored results: a file a figure, data gathered apart from drawing.

Each of `curves`, `ladder`, `matrix`, `field`, `size` and `walk` has

    data = <figure>.gather(...)     frozen plain values: what is drawn; ValueError where there is nothing to draw; no matplotlib
    figure = <figure>.draw(data)    a matplotlib Figure; ValueError where matplotlib (the extra `plot`) is missing

`gather` takes stored records (dicts as `Store.save` returns them) for curves, ladder and size; the JSON of `probe matrix` and
`probe field` for matrix and field; for walk, what `walk.compute` made. `output.svg(figure) -> str` is an `<svg>` element to embed in
a page, with ids of its own and an accessible name; `output.write(figure, path)` a PNG or SVG file.
"""
