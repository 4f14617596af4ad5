// The Hub's script. Pages work without it; with it, nothing is loaded as a whole: the answer to a form or a link is
// fetched as the same page, and the parts marked data-live are put in the place of the old ones.
"use strict";

(() => {
  const POLL_MS = 2000;
  const FILTER_MS = 120;
  const AGAIN_MS = 700;
  const base = document.body.dataset.base;
  const $ = (id) => document.getElementById(id);
  let newest = 0;

  document.documentElement.classList.add("has-script");

  // Parts of pages

  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  /** Whether somebody is writing in a part, so that it must not be replaced under their hands. */
  const isBusy = (part) => part.querySelector("[data-open-now]") !== null || isChanged(part);

  const isChanged = (part) => findChanged(part).length > 0;

  /** The fields of settings that hold something else than the page was sent with. */
  const findChanged = (part) =>
    [...part.querySelectorAll("form.setting :is(input, textarea, select), form.card :is(input, textarea)")].filter(
      (field) => {
        if (field.type === "hidden" || field.type === "checkbox") return false;
        if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
        const first = [...field.options].findIndex((option) => option.defaultSelected);
        return field.selectedIndex !== Math.max(first, 0);
      },
    );

  /** Puts the parts of another page in the place of those of this one; keeps ticks, half-done settings, the focus. */
  const swap = (other, { force = false, sent = null } = {}) => {
    const halfDone = findChanged(document).filter((field) => field.form !== sent).map((field) => [field.id, field.value]);
    const focus = rememberFocus();
    const ticked = new Set([...document.querySelectorAll(".tick-row:checked")].map((box) => box.value));
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = other.getElementById(part.id);
      if (fresh === null || (!force && part.id === "list" && isBusy(part))) continue;
      if (part.id === "notice" && !force) continue;
      if (part.id === "state") part.dataset.state = fresh.dataset.state;
      if (part.innerHTML !== fresh.innerHTML) part.replaceChildren(...fresh.childNodes);
    }
    document.title = other.title;
    askAgain();
    for (const box of document.querySelectorAll(".tick-row")) box.checked = ticked.has(box.value);
    for (const [id, value] of halfDone) if ($(id) !== null) $(id).value = value;
    tellTicked();
    restoreFocus(focus);
  };

  /** A page that was sent before its search was done is asked for once more. */
  const askAgain = () => {
    if (document.querySelector("[data-again]") !== null) setTimeout(() => refresh(location.href), AGAIN_MS);
  };

  const rows = () => [...document.querySelectorAll(".entry, .commit")];

  const rememberFocus = () => {
    const at = document.activeElement;
    if (at === null || at === document.body) return null;
    const row = at.closest(".entry, .commit");
    return { id: at.id, row: row === null ? -1 : rows().indexOf(row) };
  };

  const restoreFocus = (focus) => {
    if (focus === null || (document.activeElement !== null && document.activeElement !== document.body)) return;
    const same = focus.id && $(focus.id);
    if (same) return same.focus({ preventScroll: true });
    if (focus.row < 0) return $("main").focus({ preventScroll: true });
    const all = rows();
    const next = all[Math.min(focus.row, all.length - 1)];
    const target = next?.querySelector("a, button, input:not([type=hidden])") ?? $("main");
    target.focus({ preventScroll: true });
  };

  const showAlert = (part) => {
    $("notice").replaceChildren();
    $("alert").replaceChildren(...(part === null ? [] : [part]));
    if (part !== null) $("alert").scrollIntoView({ block: "nearest" });
  };

  const makeAlert = (text) => {
    const box = document.createElement("div");
    box.className = "notice is-warning";
    const words = document.createElement("p");
    words.textContent = text;
    box.append(words);
    return box;
  };

  const get = async (url, options = {}) => {
    try {
      return await fetch(url, { credentials: "same-origin", ...options });
    } catch {
      showAlert(makeAlert("The Hub does not answer. Is memrepo hub still running?"));
      return null;
    }
  };

  /** Loads a page and takes over its parts; an answer that a newer one has overtaken is dropped. */
  const refresh = async (url, options) => {
    const number = ++newest;
    const answer = await get(url);
    if (answer === null || number !== newest || !answer.ok) return;
    swap(parse(await answer.text()), options);
  };

  // Forms

  const send = async (form, button) => {
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form, button)) fields.append(name, value);
    const row = form.closest(".entry");
    const buttons = [...form.querySelectorAll("button")];
    form.setAttribute("aria-busy", "true");
    for (const one of buttons) one.setAttribute("aria-disabled", "true");
    const answer = await get(button?.getAttribute("formaction") ?? form.getAttribute("action"), {
      method: "POST",
      body: fields,
    });
    form.removeAttribute("aria-busy");
    for (const one of buttons) one.removeAttribute("aria-disabled");
    if (answer === null) return;
    if (answer.status === 401) return showAlert(makeAlert((await answer.text()).replace(/^memrepo: /, "")));
    const page = parse(await answer.text());
    const conflict = page.querySelector('[data-part="conflict"]');
    if (conflict !== null && row !== null) return openPart(row, conflict, form.closest("[data-open-now]"));
    const problem = page.querySelector('[data-part="problem"]');
    if (!answer.ok) return showAlert(problem ?? makeAlert("That did not work."));
    $("alert").replaceChildren();
    if (page.querySelector("[data-live]#list") === null || $("list") === null || !isHere(answer.url)) {
      location.assign(answer.url);
      return;
    }
    newest += 1;
    const opened = form.closest("[data-open-now]");
    const heir = opened === null ? null : { id: `${row.id}-edit`, row: rows().indexOf(row) };
    opened?.remove();
    if (form.hasAttribute("data-reset")) form.reset();
    swap(page, { force: true, sent: form });
    restoreFocus(heir);
  };

  const isHere = (url) => new URL(url).pathname === location.pathname;

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.hasAttribute("data-filter")) {
      event.preventDefault();
      return filter(form);
    }
    if (form.getAttribute("aria-busy") === "true") return event.preventDefault();
    if (form.hasAttribute("data-long")) markLong(form);
    if (!form.hasAttribute("data-quiet")) return;
    event.preventDefault();
    send(form, event.submitter);
  });

  const markLong = (form) => {
    const words = document.createElement("p");
    words.className = "faint";
    words.setAttribute("role", "status");
    words.textContent = "Working… this may take a while.";
    form.append(words);
    if (!form.hasAttribute("data-quiet")) setTimeout(() => { for (const one of form.querySelectorAll("button")) one.disabled = true; });
  };

  // Search as you type

  let filterTimer = 0;

  const filter = (form) => {
    clearTimeout(filterTimer);
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value.trim()) query.append(name, value);
    const url = `${form.getAttribute("action")}${query.size ? `?${query}` : ""}`;
    history.replaceState(null, "", url);
    refresh(url, { force: true });
  };

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form");
    if (form?.hasAttribute("data-filter")) {
      clearTimeout(filterTimer);
      filterTimer = setTimeout(() => filter(form), FILTER_MS);
    }
    if (event.target.matches("[data-all]")) {
      for (const box of document.querySelectorAll(".tick-row")) box.checked = event.target.checked;
    }
    tellTicked();
  });

  const tellTicked = () => {
    const place = document.querySelector("[data-ticked]");
    if (place === null) return;
    const boxes = [...document.querySelectorAll(".tick-row")];
    const ticked = boxes.filter((box) => box.checked).length;
    place.textContent = ticked ? `${ticked} ticked` : "";
    const all = document.querySelector("[data-all]");
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  };

  // Editing in place

  const openPart = (row, part, instead = null) => {
    closeParts();
    instead?.remove();
    part.setAttribute("data-open-now", "");
    row.append(part);
    const field = part.querySelector("textarea, select, input:not([type=hidden])");
    const back = part.querySelectorAll('input[name="back"]');
    const here = row.querySelector('input[name="back"]')?.value;
    if (here) for (const one of back) one.value = here;
    (field ?? part).focus();
    if (field?.tagName === "TEXTAREA") field.setSelectionRange(field.value.length, field.value.length);
  };

  const closeParts = () => {
    for (const part of document.querySelectorAll("[data-open-now]")) {
      const row = part.closest(".entry");
      const had = part.contains(document.activeElement);
      part.remove();
      if (had) row?.querySelector("[data-open]")?.focus();
    }
  };

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-open], [data-open-now] [data-cancel]");
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.hasAttribute("data-cancel")) return closeParts();
    const row = link.closest(".entry");
    const answer = await get(link.getAttribute("href"));
    if (answer === null) return;
    const page = parse(await answer.text());
    if (!answer.ok) return showAlert(page.querySelector('[data-part="problem"]'));
    openPart(row, page.querySelector(`[data-part="${link.dataset.open}"]`));
  });

  // Keys

  const moveFocus = (row, step) => {
    const all = [...document.querySelectorAll(".entry, .commit")];
    const next = all[all.indexOf(row) + step];
    next?.querySelector(".tick-row, a, button")?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && $("q") !== null) {
      event.preventDefault();
      $("q").focus();
      $("q").select();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && document.querySelector("[data-open-now]") !== null) return closeParts();
    const inText = event.target.matches("textarea, select, input:not([type=checkbox])");
    if (event.key === "Enter" && event.target.matches("[data-open-now] textarea") && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      return event.target.form.requestSubmit();
    }
    if (event.key === "ArrowDown" && event.target.id === "q") {
      event.preventDefault();
      return document.querySelector(".entry")?.querySelector("a, button")?.focus();
    }
    const row = event.target.closest(".entry, .commit");
    if (inText || row === null) return;
    const press = (ending) => $(`${row.id}-${ending}`)?.click();
    const acts = {
      ArrowDown: () => moveFocus(row, 1),
      ArrowUp: () => moveFocus(row, -1),
      j: () => moveFocus(row, 1),
      k: () => moveFocus(row, -1),
      e: () => press("edit"),
      p: () => press("pin"),
      m: () => press("move"),
      Delete: () => press($(`${row.id}-discard`) === null ? "forget" : "discard"),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  });

  // Changes of others

  let isAsking = false;

  const look = async () => {
    const place = $("state");
    if (document.hidden || isAsking || place === null || !place.dataset.state) return;
    isAsking = true;
    try {
      const answer = await fetch(`${base}/state`, { credentials: "same-origin" });
      if (!answer.ok) return;
      const state = await answer.text();
      if (state !== place.dataset.state) await refresh(location.href);
    } catch {
      // the Hub has ended; the next act says so
    } finally {
      isAsking = false;
    }
  };

  setInterval(look, POLL_MS);
  document.addEventListener("visibilitychange", look);
  askAgain();
  tellTicked();
})();
