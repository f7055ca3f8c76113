/* The table of a study's runs: filters, sorting, a choice of columns, and a row that unfolds. */

(() => {
  const PART = 25;
  const MOST_CHOICES = 60;
  const MISSING = "–";
  const study = dataOf("study");
  const { columns, rows, runs } = study;
  const root = document.getElementById("runs");
  const collator = new Intl.Collator("en", { numeric: true });
  const state = {
    column: study.by, descending: study.descending, words: [], chosen: new Map(),
    shown: new Set(columns.flatMap((column, number) => (column.shown ? [number] : []))),
    limit: PART, open: new Set(), order: [],
  };

  columns.forEach((column, number) => {
    column.whole = rows.every((row) => row[number] === null || Number.isInteger(row[number]));
  });

  function text(value, column) {
    if (value === null) return MISSING;
    if (typeof value === "number" && column.kind === "setting" && Math.abs(value) >= 1e9) return value.toExponential();
    if (typeof value !== "number" || column.kind !== "result") return String(value);
    if (column.whole) return String(value).replace("-", "−");
    const tiny = value !== 0 && Math.abs(value) < 0.0005;
    return (tiny ? value.toExponential(0) : value.toFixed(Math.abs(value) < 100 ? 3 : 1)).replace(/-/g, "−");
  }

  const isNumeric = columns.map((_, number) => rows.some((row) => typeof row[number] === "number"));
  const searched = rows.map((row) => columns
    .flatMap((column, number) => {
      if (column.kind === "result") return [];
      const key = study.keys[column.name]?.[row[number]]; // betavae of the study file, shown as β-VAE
      return [`${column.name}=${text(row[number], column)}`, ...(key ? [`${column.name}=${key}`] : [])];
    })
    .join("\n").toLowerCase());
  const searchedWords = searched.map((settings) => settings.split(/\s+/).map(plain));

  /* Equal numbers are written alike: 2.0 as 2. */
  function plain(setting) {
    const [name, value] = setting.split("=");
    return value && Number.isFinite(Number(value)) ? `${name}=${Number(value)}` : setting;
  }

  /* A word with "=" is a setting with its whole value, such as seed=1, which is not seed=10. */
  function hasWord(number, word) {
    if (!word.includes("=")) return searched[number].includes(word);
    const wanted = plain(word);
    return searchedWords[number].some((setting) => setting === wanted || setting.endsWith(`.${wanted}`));
  }

  /* Missing values come last in both directions; equal ones keep the order of the study file. */
  function compare(first, second) {
    const [a, b] = [rows[first][state.column], rows[second][state.column]];
    if (a === null || b === null) return (a === null) - (b === null) || first - second;
    const difference = typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
    return (state.descending ? -difference : difference) || first - second;
  }

  function arrange() {
    state.order = rows.map((_, number) => number).filter((number) =>
      state.words.every((word) => hasWord(number, word)) &&
      [...state.chosen].every(([column, value]) => text(rows[number][column], columns[column]) === value));
    if (state.column !== null) state.order.sort(compare);
  }

  /* ---- controls ---- */

  const search = element("input", { type: "search", id: "runs-search", autocomplete: "off" });
  search.addEventListener("input", () => {
    state.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    refresh();
  });
  const selects = columns.flatMap((column, number) => {
    const values = [...new Set(rows.map((row) => text(row[number], column)))];
    if (column.kind === "result" || column.kind === "run" || values.length < 2 || values.length > MOST_CHOICES) return [];
    values.sort(collator.compare);
    const select = element("select", { id: `runs-filter-${number}` },
      element("option", { value: "", textContent: "all" }),
      ...values.map((value, i) => element("option", { value: `${i}`, textContent: value })));
    select.addEventListener("change", () => {
      if (select.value) state.chosen.set(number, values[Number(select.value)]);
      else state.chosen.delete(number);
      refresh();
    });
    return [{ select, box: element("div", {}, element("label", { for: select.id, textContent: column.label }), select) }];
  });
  const order = element("select", { id: "runs-order" },
    ...columns.map((column, number) => element("option", { value: `${number}`, textContent: column.label })));
  order.addEventListener("change", () => sortBy(Number(order.value)));
  const clear = element("button", { type: "button", textContent: "Clear filters" });
  clear.addEventListener("click", () => {
    search.value = "";
    selects.forEach(({ select }) => (select.value = ""));
    state.words = [];
    state.chosen.clear();
    refresh();
  });
  const boxes = columns.map((column, number) => {
    const box = element("input", { type: "checkbox", id: `runs-column-${number}`, checked: column.shown, disabled: number === 0 });
    box.addEventListener("change", () => {
      if (box.checked) state.shown.add(number);
      else state.shown.delete(number);
      draw();
    });
    return element("label", { for: box.id }, box, ` ${column.label}`);
  });
  const chooser = element("details", { className: "columns" },
    element("summary", { textContent: `Columns (${columns.length})` }),
    element("div", { role: "group", "aria-label": "Columns that are shown" }, ...boxes));
  const count = element("p", { className: "count", role: "status" });
  const controls = element("div", { className: "filters" },
    element("div", { className: "search" }, element("label", { for: search.id, textContent: "Search settings" }), search),
    ...selects.map((one) => one.box),
    element("div", { className: "order" }, element("label", { for: order.id, textContent: "Sort by" }), order), clear);

  /* ---- the table ---- */

  function sortBy(number) {
    const column = columns[number];
    state.descending = state.column === number ? !state.descending : column.kind === "result" && !column.lower;
    state.column = number;
    refresh();
  }

  const heads = columns.map((column, number) => {
    const button = element("button", { type: "button" }, element("span", { textContent: column.label }), element("i", { "aria-hidden": "true" }));
    button.addEventListener("click", () => sortBy(number));
    return element("th", { scope: "col", className: isNumeric[number] ? "number" : "" }, button);
  });
  const headRow = element("tr");
  const body = element("tbody");
  const table = element("table", { className: "runs", "aria-label": "Runs" },
    element("thead", {}, headRow), body);
  const more = element("button", { type: "button" });
  more.addEventListener("click", () => {
    state.limit += PART;
    draw();
  });
  const all = element("button", { type: "button" });
  all.addEventListener("click", () => {
    state.limit = rows.length;
    draw();
  });
  const pager = element("div", { className: "pager" }, more, all);

  function rowOf(number, shown) {
    const run = rows[number];
    const isOpen = state.open.has(number);
    const button = element("button", { type: "button", className: "fold", "aria-expanded": `${isOpen}`, textContent: run[0] });
    const made = element("tr", { id: `run-${run[0]}` }, element("th", { scope: "row" }, button));
    for (const column of shown) {
      const value = run[column];
      const cell = document.createElement("td");
      cell.textContent = text(value, columns[column]);
      cell.dataset.head = columns[column].label;
      if (isNumeric[column]) cell.className = "number";
      if (columns[column].kind === "state") cell.className = `state ${value}`;
      made.append(cell);
    }
    button.addEventListener("click", () => {
      if (state.open.delete(number)) made.nextSibling.remove();
      else {
        state.open.add(number);
        made.after(unfolded(number, shown.length + 1));
      }
      button.setAttribute("aria-expanded", `${state.open.has(number)}`);
    });
    return isOpen ? [made, unfolded(number, shown.length + 1)] : [made];
  }

  function pairs(entries) {
    return element("dl", { className: "facts" }, ...entries.map(([name, value]) =>
      element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
  }

  function part(title, ...children) {
    return element("div", {}, element("h4", { textContent: title }), ...children);
  }

  const GROUPS = [
    [/^score\.sampled\//, "Scores of sampled codes"],
    [/^score\.(elbo|reconstruction|kl|explained_variance)_.*(train|validation|test)$/, "Likelihoods"],
    [/^score\./, "Scores"],
    [/^agreement\./, "Agreement with other seeds"],
    [/^labelled\./, "Scores on few labels"],
  ];
  const LEVELS = ["chance", "untrained"];

  function groupOf(name) {
    const prefix = name.split(".")[0];
    return GROUPS.find(([pattern]) => pattern.test(name))?.[1] ?? prefix[0].toUpperCase() + prefix.slice(1);
  }

  /* The results of a run by group, each with its levels. */
  function resultsOf(number) {
    const cell = (i) => (i < 0 || rows[number][i] === null ? null : text(rows[number][i], columns[i]));
    const groups = new Map();
    columns.forEach((column, i) => {
      if (column.kind !== "result" || LEVELS.some((level) => column.name.endsWith(`/${level}`)) || cell(i) === null) return;
      const levels = LEVELS.flatMap((level) => {
        const value = cell(columns.findIndex((other) => other.name === `${column.name}/${level}`));
        return value === null ? [] : [`${level} ${value}`];
      });
      const title = groupOf(column.name);
      groups.set(title, [...(groups.get(title) ?? []), [column.label, levels.length ? `${cell(i)} (${levels.join(", ")})` : cell(i)]]);
    });
    return groups;
  }

  function unfolded(number, width) {
    const run = runs[number];
    const values = (kind) => columns.flatMap((column, i) =>
      column.kind === kind && rows[number][i] !== null ? [[column.label, text(rows[number][i], column)]] : []);
    const groups = resultsOf(number);
    const settings = Object.entries(study.settings[run.settings]);
    const links = run.links.map(([name, address]) => element("a", { href: address, textContent: name }));
    const parts = [
      part("Settings", pairs([...values("setting"), ...values("seed"), ...settings])),
      part("Run", pairs(run.facts), ...links.map((link) => element("p", {}, link))),
    ];
    const scores = groups.size ? [...groups].map(([title, entries]) => part(title, pairs(entries)))
      : [element("p", { textContent: "The run has no scores." })];
    return element("tr", { className: "unfolded" },
      element("td", { colSpan: width }, element("div", { className: "parts" }, ...parts),
        element("div", { className: "results" }, ...scores)));
  }

  function draw() {
    const shown = [...state.shown].filter((column) => column > 0).sort((a, b) => a - b);
    headRow.replaceChildren(heads[0], ...shown.map((column) => heads[column]));
    heads.forEach((head, number) => {
      if (number === state.column) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    order.value = `${state.column ?? 0}`;
    body.replaceChildren(...state.order.slice(0, state.limit).flatMap((number) => rowOf(number, shown)));
    const left = state.order.length - state.limit;
    const [found, whole] = [state.order.length, rows.length].map((one) => one.toLocaleString("en"));
    count.textContent = `${found === whole ? whole : `${found} of ${whole}`} runs`;
    pager.hidden = left <= 0;
    more.textContent = `Show ${Math.min(PART, Math.max(left, 0))} more`;
    all.textContent = `Show all ${found}`;
  }

  function refresh() {
    arrange();
    draw();
  }

  /* A link to a run unfolds its row, whatever the filters hide. */
  function follow() {
    const number = rows.findIndex((row) => `#run-${row[0]}` === location.hash);
    if (number < 0) return;
    state.open.add(number);
    clear.click();
    state.limit = Math.max(state.limit, state.order.indexOf(number) + 1);
    draw();
    document.getElementById(`run-${rows[number][0]}`).scrollIntoView();
  }

  root.append(controls, chooser, count,
    element("div", { className: "wide stacks", tabIndex: 0, role: "region", "aria-label": "Runs" }, table), pager);
  refresh();
  addEventListener("hashchange", follow);
  follow();
})();
