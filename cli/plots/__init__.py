"""Figures of stored results: a file a figure, data gathered apart from drawing.

Each of `curves`, `ladder`, `matrix`, `field`, `size` and `walk` has

    data = <figure>.gather(...)     frozen plain values: what is drawn; ValueError where there is nothing to draw; no matplotlib
    figure = <figure>.draw(data)    a matplotlib Figure; ValueError where matplotlib (the extra `plot`) is missing

`gather` takes stored records, dicts as `Store.save` returns them: curves.gather(task, {arm: {seed: record}}),
ladder.gather({arm: {r: [record]}}, head_dim, slot), size.gather(task name, option, {arm: {size: [record]}}); `stored` finds them.
matrix.gather and field.gather take the JSON of `probe matrix` and `probe field`. `maps.drawable(store directory)` is the data of
every walk whose attention maps a store keeps.

`output.svg(figure) -> str` is an `<svg>` element to embed in a page, with ids of its own and an accessible name;
`output.write(figure, path)` writes a PNG or SVG file.
"""
