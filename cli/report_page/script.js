"use strict";
// Sorting: a button in each heading of a table; a third press gives back the order of the report. What is empty stays last.
(() => {
  const shown = (cell) => cell.dataset.v ?? cell.textContent.trim();
  const empty = (value) => value === "" || value === "-";
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    let original = null;
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        original ??= [...body.rows];
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort") ?? "none"];
        for (const other of heads) other.removeAttribute("aria-sort");
        if (next === "none") return body.append(...original);
        head.setAttribute("aria-sort", next);
        const rows = original.map((row) => [shown(row.cells[column]), row]);
        const full = rows.filter(([value]) => !empty(value));
        const numeric = full.every(([value]) => Number.isFinite(Number(value)));
        const sign = next === "ascending" ? 1 : -1;
        full.sort(([a], [b]) => sign * (numeric ? a - b : a.localeCompare(b, "en", { numeric: true })));
        body.append(...full.map(([, row]) => row), ...rows.filter(([value]) => empty(value)).map(([, row]) => row));
      });
    });
  }
  // What a link leads to is unfolded; on paper everything is.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
})();
