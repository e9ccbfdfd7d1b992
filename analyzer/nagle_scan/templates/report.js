"use strict";
// Sorting, filtering and folding. Everything can be read without.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text);
    return text === "" ? -Infinity : Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending" ||
        (!head.hasAttribute("aria-sort") && head.classList.contains("number"));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const sign = descending ? -1 : 1;
      const rows = [...body.rows];
      rows.sort((a, b) => sign * compare(value(a, column), value(b, column)));
      body.append(...rows);
    });
  });
}

for (const table of document.querySelectorAll("table.filterable")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 2) continue;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const shown = document.createElement("span");
  label.className = "filter";
  input.type = "search";
  shown.className = "muted";
  shown.setAttribute("role", "status");
  label.append(table.dataset.filter, input, shown);
  table.closest(".box").before(label);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = words.length ? `${count} of ${rows.length}` : "";
  });
}

// Links into a folded connection open it.
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", unfold);
unfold();
