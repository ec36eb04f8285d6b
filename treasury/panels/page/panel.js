// Draws the kernel's frames and sends presses to it.
//
// Outside text arrives as text and is set as text: a frame contains no markup, and no code here
// parses any. A frame is compared with the screen and only differences are changed, so focus, a
// half-typed word and an unfinished click survive.

// JupyterLab takes keys on a focused button as its own commands ("dd" deletes the cell). This
// attribute prevents that, on the focused element only.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };
const WAITING = "Waiting for the kernel. If nothing appears here, run the cell again.";

// Below this width rows are always cards.
const CARDS = 640;

// Pause in typing after which a search begins, in milliseconds.
const TYPING = 300;

// From this number of fields on they form a separate block below the buttons.
const FORM = 4;

// Maximum size of a file sent with a press: a notebook server accepts messages of up to ten million
// bytes.
const LARGEST = 4 << 20;

// A restarted kernel loses a press and a busy one delays it; only the page can show that.
const PATIENCE = 3_000;
const UNHEARD = {
  title: "The kernel has not answered",
  lines: [
    { text: "This panel does not know whether the press arrived.", look: "plain", copy: "" },
    {
      text:
        "If the kernel is busy, wait. If it was restarted, run the cell again: the panel then " +
        "shows what the journal says was done.",
      look: "strong",
      copy: "",
    },
  ],
};

let views = 0;

const present = (nodes) => nodes.flat(Infinity).filter(Boolean);
const h = (tag, props, ...children) => ({ tag, props: props || {}, children: present(children) });
const when = (condition, make) => (condition ? make() : null);

// ---- comparing the frame with the screen

const PROPERTIES = new Set(["text", "key", "checked"]);

function make(node) {
  const element = document.createElement(node.tag);
  element.wanted = {};
  return element;
}

function update(element, node) {
  const { props } = node;
  for (const name of Object.keys(element.wanted)) {
    if (!(name in props) && !PROPERTIES.has(name)) element.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(props)) {
    if (element.wanted[name] === value) continue;
    if (name === "text") element.textContent = value;
    else if (name === "checked") element.checked = value;
    else if (name !== "key") element.setAttribute(name, value);
  }
  if ("text" in element.wanted && !("text" in props)) element.textContent = "";
  element.wanted = props;
  if (!("text" in props)) patch(element, node.children);
}

function patch(parent, wanted) {
  const keyed = new Map();
  const others = [];
  for (const child of parent.children) {
    const key = child.wanted?.key;
    if (key === undefined) others.push(child);
    else keyed.set(key, child);
  }
  const found = wanted.map((node) => {
    const { key } = node.props;
    let element = key === undefined ? others.find((one) => one.matches(node.tag)) : keyed.get(key);
    if (element !== undefined && key === undefined) others.splice(others.indexOf(element), 1);
    if (element !== undefined && element.localName !== node.tag) element = undefined;
    if (element !== undefined && key !== undefined) keyed.delete(key);
    return element;
  });
  // Remove, then insert: unchanged elements must not move, because a click on a moving one is lost.
  for (const left of [...keyed.values(), ...others]) left.remove();
  let place = parent.firstElementChild;
  wanted.forEach((node, at) => {
    const element = found[at] ?? make(node);
    update(element, node);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  });
}

// ---- blocks

// Maximum length of a text that stays on one line, such as a date, an age or an amount.
const WHOLE = 18;

const line = ({ text, look, copy: what }) =>
  what
    ? h(
        "div",
        { class: `tp-line tp-${look} tp-copied` },
        h("span", { dir: "auto", text }),
        copy(what, text),
      )
    : h("div", { class: `tp-line tp-${look}${text.length > WHOLE ? "" : " tp-whole"}`, dir: "auto", text });

const copy = (what, text) =>
  h("button", {
    type: "button",
    class: "tp-copy",
    "data-copy": text,
    "aria-label": `Copy ${what}`,
    ...OWN_KEYS,
    text: "Copy",
  });

const button = ({ name, label, look, enabled, pressed = null, takes }, props) =>
  h("button", {
    key: name,
    type: "button",
    class: `tp-button tp-${look}`,
    "data-press": name,
    "data-focus": name,
    // Not `disabled`: that would move the focus out of the panel.
    "aria-disabled": String(!enabled),
    ...(pressed === null ? {} : { "aria-pressed": String(pressed) }),
    ...(takes ? { "data-takes": takes } : {}),
    ...OWN_KEYS,
    ...props,
    text: label,
  });

// A field of another `form` is a new field: it is empty.
const field = ({ name, label, hint, error, choices = [], value: given = "" }, view, form = 0) => {
  const shared = {
    "data-field": name,
    // A button may have the same name, such as Remark.
    "data-focus": name === "search" ? name : `field_${name}`,
    id: `${view}-${name}`,
    ...(error ? { "aria-invalid": "true", "aria-describedby": `${view}-${name}-error` } : {}),
    ...OWN_KEYS,
  };
  const typing = {
    type: "text", placeholder: hint, autocomplete: "off", spellcheck: "false",
    ...(given ? { value: given } : {}),
  };
  const options = [["", hint], ...choices].map(([value, words]) =>
    h("option", {
      key: `option-${value}`, value, text: words, ...(given && value === given ? { selected: "" } : {}),
    }),
  );
  return h(
    "label",
    { key: `field-${name}-${form}`, class: "tp-field" },
    h("span", { class: "tp-label", text: label }),
    choices.length ? h("select", shared, options) : h("input", { ...typing, ...shared }),
    when(error, () =>
      h("span", { key: "error", id: `${view}-${name}-error`, class: "tp-error", dir: "auto", text: error }),
    ),
  );
};

function row(one, table, view) {
  const choice = h("input", {
    type: table.several ? "checkbox" : "radio",
    name: `${view}-row`,
    value: one.key,
    "aria-label": one.label,
    checked: table.chosen.includes(one.key) && one.may_choose,
    ...OWN_KEYS,
  });
  const done = h("span", { class: "tp-done", role: "img", "aria-label": "decided", text: "✓" });
  return h(
    "tr",
    { key: one.key, class: one.may_choose ? "" : "tp-settled" },
    h("td", { class: "tp-choice" }, one.may_choose ? choice : one.settled ? done : null),
    one.cells.map((lines, at) => {
      const { label, end, wide } = table.columns[at];
      const looks = present([when(end, () => "tp-end"), when(wide, () => "tp-wide")]);
      return h("td", { class: looks.join(" "), "data-label": label }, lines.map(line));
    }),
  );
}

const table = (one, view) =>
  h(
    "div",
    { key: "table", class: "tp-scroll" },
    h(
      "table",
      { class: "tp-table" },
      h("caption", { class: "tp-unseen", text: one.caption }),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, h("span", { class: "tp-unseen", text: "Choose" })),
          one.columns.map(({ label, end, wide }) =>
            h("th", { scope: "col", class: end ? "tp-end" : wide ? "tp-wide" : "", text: label }),
          ),
        ),
      ),
      h(
        "tbody",
        null,
        one.rows.map((each) => row(each, one, view)),
      ),
    ),
  );

const pager = ({ text, back, on, all }) =>
  h(
    "div",
    { key: "pager", class: "tp-pager" },
    when(back || on, () => button({ name: "previous", label: "Previous", look: "plain", enabled: back })),
    h("span", { class: "tp-quiet", text }),
    when(back || on, () => button({ name: "next", label: "Next", look: "plain", enabled: on })),
    when(all, () => button({ name: "choose_all", label: all, look: "plain", enabled: true })),
  );

// The marks of a checklist are for the eye; the state is also there in words.
const MARKS = { done: "✓", open: "!", carried: "~", "not asked": "–" };

const check = ({ title, state, found, open }) =>
  h(
    "li",
    { key: `check-${title}`, class: `tp-check tp-check-${state.replace(" ", "-")}` },
    h("span", { class: "tp-mark", "aria-hidden": "true", text: MARKS[state] }),
    h("span", { class: "tp-strong", text: title }),
    h("span", { class: "tp-state", text: state }),
    h("span", { class: "tp-found", dir: "auto", text: found }),
    when(open.length, () => h("div", { class: "tp-open" }, open.map((each) => button(each)))),
  );

const checklist = ({ caption, lines, buttons, notes, fields }, view, form) =>
  h(
    "section",
    { key: "checklist", class: "tp-checklist", "aria-labelledby": `${view}-checklist` },
    h("h3", { id: `${view}-checklist`, text: caption }),
    h("ol", null, lines.map(check)),
    h(
      "div",
      { class: "tp-bar" },
      buttons.map((each) => button(each)),
      fields.map((each) => field(each, view, form)),
    ),
    notes.map(line),
  );

// The search and the filters of a list, in one group.
const narrowing = ({ search, filters, filtering, narrowed }, view) =>
  h(
    "div",
    { key: "search", class: "tp-search", role: "search", "aria-label": "Filters of the list" },
    field(search, view, filtering),
    filters.map((each) => field(each, view, filtering)),
    when(filters.length && narrowed, () =>
      button({ name: "clear", label: "Clear filters", look: "plain", enabled: true }),
    ),
  );

const letter = ({ copy: what, lines }) =>
  h(
    "div",
    { key: "letter", class: "tp-letter" },
    h("pre", { tabindex: "0", "aria-label": what, dir: "auto", ...OWN_KEYS, text: lines.join("\n") }),
    copy(what, lines.join("\n")),
  );

const step = (one, view) =>
  h(
    "section",
    { key: `step-${one.key}`, class: `tp-step tp-${one.tone}`, "aria-labelledby": `${view}-step` },
    h("h3", { id: `${view}-step`, tabindex: "-1", "data-focus": "step", ...OWN_KEYS, text: one.title }),
    h("p", { class: "tp-sentence", dir: "auto", text: one.text }),
    when(one.items.length, () =>
      h(
        "ol",
        { key: "items", class: "tp-items", tabindex: "0", "aria-label": "What is confirmed", ...OWN_KEYS },
        one.items.map((text) => h("li", { dir: "auto", text })),
      ),
    ),
    one.notes.map(line),
    when(one.letter, () => letter(one.letter)),
    when(one.facts.length, () => h(
      "dl",
      { class: "tp-facts" },
      one.facts.map((fact) =>
        h(
          "div",
          { key: fact.name },
          h("dt", { text: fact.name }),
          h("dd", null, fact.lines.map(line)),
        ),
      ),
    )),
    h(
      "div",
      { class: "tp-bar tp-confirm" },
      one.buttons.map((each) => button(each, { "data-step": one.key })),
    ),
  );

// One permanent element announces progress and results, because a screen reader only follows a
// region that already exists.
const live = (progress, message) => {
  const said = progress ? [] : [message].filter((one) => one?.role === "status");
  return h(
    "div",
    {
      key: "live",
      class: said.length ? "tp-message tp-status" : "tp-live",
      role: "status",
      tabindex: "-1",
      "data-focus": said.length ? "message" : "progress",
      ...OWN_KEYS,
    },
    when(progress, () => h("span", { text: progress.label })),
    said.map(({ title, lines }) => [h("strong", { dir: "auto", text: title }), lines.map(line)]),
  );
};

const progress = ({ label, done, total, may_cancel }) =>
  h(
    "div",
    { key: "progress", class: "tp-progress" },
    h("progress", { "aria-label": label, ...(total === null ? {} : { value: done, max: total }) }),
    button({ name: "cancel", label: "Cancel", look: "plain", enabled: may_cancel }),
  );

const banner = ({ title, lines }, at) =>
  h(
    "div",
    { key: `banner-${at}`, class: "tp-message tp-alert tp-banner", role: "note", "aria-label": title },
    h("strong", { dir: "auto", text: title }),
    lines.map(line),
  );

const alert = ({ title, lines }, key) =>
  h(
    "div",
    {
      key,
      class: "tp-message tp-alert",
      role: "alert",
      tabindex: "-1",
      "data-focus": "message",
      ...OWN_KEYS,
    },
    h("strong", { dir: "auto", text: title }),
    lines.map(line),
  );

const page = (frame, view, unheard) => [
  h(
    "header",
    { key: "head", class: "tp-head" },
    h(
      "div",
      null,
      h("h2", { id: `${view}-title`, text: frame.title }),
      frame.notes.map(line),
    ),
    h(
      "div",
      { class: "tp-bar" },
      frame.tools.map((each) => button(each)),
    ),
  ),
  when(frame.checklist, () => checklist(frame.checklist, view, frame.form)),
  when(frame.views.length, () =>
    h(
      "div",
      { key: "views", class: "tp-bar tp-views", role: "group", "aria-label": "Lists" },
      frame.views.map((each) => button(each)),
    ),
  ),
  frame.banners.map(banner),
  when(frame.search, () => narrowing(frame, view)),
  when(frame.table, () => table(frame.table, view)),
  when(frame.empty, () => h("p", { key: "empty", class: "tp-empty", text: frame.empty })),
  h(
    "div",
    { key: "foot", class: "tp-foot" },
    when(frame.fields.length >= FORM, () =>
      h("div", { key: "form", class: "tp-form" }, frame.fields.map((each) => field(each, view, frame.form))),
    ),
    when(frame.bar.length, () =>
      h(
        "div",
        { key: "bar", class: "tp-bar" },
        frame.bar.map((each) => button(each)),
        when(frame.fields.length < FORM, () =>
          frame.fields.map((each) => field(each, view, frame.form)),
        ),
      ),
    ),
    when(frame.pager, () => pager(frame.pager)),
  ),
  when(frame.step, () => step(frame.step, view)),
  live(frame.progress, frame.message),
  when(frame.progress, () => progress(frame.progress)),
  when(frame.message?.role === "alert", () => alert(frame.message, "alert")),
  when(unheard, () => alert(UNHEARD, "unheard")),
];

// ---- one view

function render({ model, el }) {
  const view = `tp-${++views}-${Math.random().toString(36).slice(2, 8)}`;
  const root = document.createElement("section");
  root.className = "treasury-panel";
  const waiting = document.createElement("p");
  waiting.className = "tp-empty";
  waiting.textContent = WAITING;
  root.append(waiting);
  el.append(root);

  let last = 0;
  let shown = null;
  let fixed = false; // the selection, while a step about it is open
  let parts = [];
  let unanswered = 0;
  let typing = 0;
  let about = []; // the selection that the typed text is for
  let told = null; // the selection sent with the last press, until the kernel answers

  function press(name, more) {
    clearTimeout(unanswered);
    unanswered = setTimeout(notHeard, PATIENCE);
    told = more?.chosen ?? told;
    model.send({ name, view, ...more });
  }

  // The kernel keeps or drops the selection it was sent; later selections stay.
  function answer() {
    if (told === null) return;
    for (const one of root.querySelectorAll(".tp-choice input")) {
      one.wanted.checked = told.includes(one.value);
    }
    told = null;
  }

  function notHeard() {
    if (shown && root.isConnected) show(true);
  }

  function show(unheard) {
    patch(root, present(page(shown, view, unheard)));
    fit();
  }

  // A column that does not fit would be cut off, and its values matter for decisions on money.
  function fit() {
    root.classList.remove("tp-cards");
    const place = root.querySelector(".tp-scroll");
    if (place && (root.clientWidth < CARDS || place.scrollWidth > place.clientWidth)) {
      root.classList.add("tp-cards");
    }
  }

  let width = 0;
  const resized = new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    fit();
  });
  resized.observe(root);

  // A file arrives in parts, each requested after the one before.
  function take({ name, type, part, last: isLast, text, base64 }) {
    if (part === 0) parts = [];
    parts.push(text);
    if (!isLast) {
      press("part", { typed: { part: String(part + 1) } });
      return;
    }
    const link = document.createElement("a");
    const content = base64
      ? [Uint8Array.from(atob(parts.join("")), (one) => one.charCodeAt(0))]
      : parts;
    link.href = URL.createObjectURL(new Blob(content, { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    parts = [];
  }

  // The press sends the chosen file; for a file that is too large, only its name.
  function give(name, takes) {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = takes;
    input.addEventListener("change", () => {
      const [file] = input.files;
      if (!file) return;
      if (file.size > LARGEST) {
        press(name, { chosen: chosen(), typed: { file: file.name } });
        return;
      }
      const reader = new FileReader();
      reader.addEventListener("load", () => {
        const content = reader.result.slice(reader.result.indexOf(",") + 1);
        press(name, { chosen: chosen(), typed: { file: file.name, content } });
      });
      reader.readAsDataURL(file);
    });
    input.click();
  }

  function draw({ number, frame, file, view: asked }) {
    clearTimeout(unanswered);
    if (file) {
      if (asked === view) take(file);
      return;
    }
    if (number <= last) return;
    last = number;
    shown = frame;
    fixed = Boolean(frame.step);
    const within = hasFocus();
    root.setAttribute("aria-labelledby", `${view}-title`);
    root.setAttribute("aria-busy", String(Boolean(frame.progress)));
    answer();
    show(false);
    about = chosen();
    const lost = within && !hasFocus();
    if (within && (frame.focus || lost)) focusOn(frame.focus);
  }

  // In a shadow tree, as in marimo, the document's active element is the tree's host.
  function hasFocus() {
    return root.contains(root.getRootNode().activeElement);
  }

  function focusOn(name) {
    const places = [`[data-focus="${name}"]`, '[data-focus="approve"]', "button"];
    const place = places.map((one) => root.querySelector(one)).find(Boolean);
    place?.focus({ preventScroll: true });
    // A step is shown with its buttons, and a result with what is above it.
    const block = name === "message" ? "end" : "nearest";
    (place?.closest(".tp-step") ?? place)?.scrollIntoView({ block });
  }

  const typed = () =>
    Object.fromEntries(
      [...root.querySelectorAll("[data-field]")].map((one) => [one.dataset.field, one.value]),
    );
  const chosen = () =>
    [...root.querySelectorAll(".tp-choice input:checked")].map((one) => one.value);

  // Text typed for one selection is not used for another that shares no row with it.
  function chose() {
    const now = chosen();
    if (about.length && !now.some((one) => about.includes(one))) {
      for (const one of root.querySelectorAll(".tp-foot [data-field]")) one.value = "";
    }
    about = now;
  }

  // Remote pages without https have no clipboard API; the old command still works there.
  async function copyText(from) {
    const text = from.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      root.append(area);
      area.select();
      const copied = document.execCommand("copy");
      area.remove();
      from.focus();
      if (!copied) {
        from.textContent = "Not copied";
        return;
      }
    }
    from.textContent = "Copied";
    setTimeout(() => (from.textContent = "Copy"), 1500);
  }

  function onClick(event) {
    const copying = event.target.closest("[data-copy]");
    if (copying) {
      copyText(copying);
      return;
    }
    const pressed = event.target.closest("[data-press]");
    if (pressed) {
      if (pressed.getAttribute("aria-disabled") === "true") return;
      const step = pressed.dataset.step ?? null;
      // Ignore the second half of a double click that began elsewhere.
      if (step !== null && event.detail > 1) return;
      if (pressed.dataset.takes) {
        give(pressed.dataset.press, pressed.dataset.takes);
        return;
      }
      press(pressed.dataset.press, { chosen: chosen(), step, typed: typed() });
      return;
    }
    if (event.target.matches(".tp-choice input")) {
      if (fixed) event.preventDefault();
      else chose();
    } else if (getSelection().isCollapsed && !fixed) {
      const choice = event.target.closest("tr")?.querySelector(".tp-choice input");
      if (!choice) return;
      choice.checked = choice.type === "radio" || !choice.checked;
      chose();
    }
  }

  function search() {
    clearTimeout(typing);
    press("search", { chosen: chosen(), typed: typed() });
  }

  // The search acts as one types, a filter when it is chosen or its text is complete.
  function onInput(event) {
    clearTimeout(typing);
    if (event.target.matches('[data-field="search"]')) typing = setTimeout(search, TYPING);
  }

  function onChange(event) {
    if (event.target.matches('[data-field^="filter_"]')) search();
  }

  function onKey(event) {
    if (event.key === "Enter" && event.target.matches('[data-field="search"]')) search();
    // A text field without a form has its change event at the latest when it loses the focus.
    if (event.key === "Enter" && event.target.matches('input[data-field^="filter_"]')) search();
    if (event.key === "Escape" && !event.defaultPrevented) {
      const back = event.target.closest(".tp-step")?.querySelector('[data-press="back"]');
      if (back) back.click();
    }
  }

  root.addEventListener("click", onClick);
  root.addEventListener("keydown", onKey);
  root.addEventListener("input", onInput);
  root.addEventListener("change", onChange);
  model.on("msg:custom", draw);
  press("hello");
  return () => {
    clearTimeout(unanswered);
    clearTimeout(typing);
    resized.disconnect();
    model.off("msg:custom", draw);
  };
}

export default { render };
