"use strict";
// Without this script the page shows everything, in the order in which it is written.
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  const dark = () => {
    const chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };

  function theme() {
    const button = document.getElementById("theme");
    const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
    name();
  }

  const words = new Intl.Collator("en", { numeric: true });

  // a number if the cell has one or is one, else its text
  const key = (row, column) => {
    const { dataset, textContent } = row.cells[column];
    const text = dataset.v === undefined ? textContent.trim() : dataset.v;
    const number = text === "" ? NaN : Number(text);
    return Number.isNaN(number) ? (text === "NaN" ? NaN : text) : number;
  };

  const compare = (a, b) => {
    if (typeof a === "string") return words.compare(a, b);
    // what is no number comes last
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
    return Number.isNaN(b) ? 1 : a - b;
  };

  function sort(table, heading) {
    const column = heading.cellIndex;
    const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: key(row, column) }));
    const numbers = rows.every(({ key }) => typeof key === "number");
    if (!numbers) rows.forEach((one) => { one.key = String(one.row.cells[column].textContent.trim()); });
    // what is large is looked for first, and names from the beginning of the alphabet
    const first = numbers ? "descending" : "ascending";
    const other = numbers ? "ascending" : "descending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((a, b) => sign * compare(a.key, b.key));
    table.tBodies[0].append(...rows.map(({ row }) => row));
    for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", each === heading ? order : "none");
  }

  function filter(table) {
    const of = (kind) => document.querySelector(`[data-${kind}="${table.id}"]`);
    const search = of("find");
    if (!search) return;
    const [only, found, all] = [of("changes"), of("found"), of("all")];
    const apply = () => {
      const wanted = search.value.trim().toLowerCase();
      const changed = only ? only.getAttribute("aria-pressed") === "true" : false;
      let count = 0;
      for (const row of table.tBodies[0].rows) {
        const fits = changed ? row.dataset.c === "1" : true;
        row.hidden = !(fits ? row.textContent.toLowerCase().includes(wanted) : false);
        if (!row.hidden) count += 1;
      }
      const narrowed = changed ? true : wanted !== "";
      found.textContent = narrowed ? `${count} of ${table.tBodies[0].rows.length}` : "";
      if (all) {
        // what was searched for is not cut off
        all.hidden = narrowed;
        table.classList.toggle("part", narrowed ? false : all.getAttribute("aria-expanded") === "false");
      }
    };
    search.addEventListener("input", apply);
    if (only) only.addEventListener("click", () => {
      only.setAttribute("aria-pressed", String(only.getAttribute("aria-pressed") === "false"));
      apply();
    });
    if (all) {
      const more = all.textContent;
      all.addEventListener("click", () => {
        const open = all.getAttribute("aria-expanded") === "false";
        all.setAttribute("aria-expanded", String(open));
        all.textContent = open ? "Show fewer" : more;
        apply();
      });
    }
  }

  // cells are shown behind the headings of their columns where there is no room for columns
  function label(tables) {
    const narrow = matchMedia("(max-width: 40rem)");
    const apply = () => {
      if (!narrow.matches) return;
      narrow.removeEventListener("change", apply);
      for (const table of tables) {
        const titles = Array.from(table.tHead.rows[0].cells, (heading) => heading.textContent.trim());
        for (const row of table.tBodies[0].rows) {
          titles.forEach((title, column) => { row.cells[column].dataset.label = title; });
        }
      }
    };
    narrow.addEventListener("change", apply);
    apply();
  }

  // without the clipboard, the text is at least selected
  function copy(button) {
    const code = button.parentElement.querySelector("code");
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    const select = () => {
      getSelection().selectAllChildren(code);
      if (document.execCommand("copy")) done();
    };
    button.addEventListener("click", () => {
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
      else select();
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    theme();
    document.querySelectorAll("[data-copy]").forEach(copy);
    label(document.querySelectorAll("table"));
    for (const table of document.querySelectorAll("table")) {
      for (const heading of table.tHead.rows[0].cells) {
        heading.querySelector("button").addEventListener("click", () => sort(table, heading));
      }
      filter(table);
    }
  });
})();
