/*
 * The page that explains: a list of every signal and the account of one, read again every 5 s from /explain beside it.
 * All that is shown is put in as text: names, labels and messages come from policies and Prometheus.
 */
const REFRESH_MILLISECONDS = 5000;
const PATIENCE_MILLISECONDS = 10000;
const MOST_ROWS = 200;
const HOUR = 3600;

const find = (id) => document.getElementById(id);
const page = { signals: [], chosen: "", shown: "", plot: null, rows: new Map(), isPaused: false, reading: 0, now: 0 };

function make(tag, look, ...content) {
  const made = document.createElement(tag);
  if (look) made.className = look;
  made.append(...content.filter((one) => one !== null));
  return made;
}

const figure = (value) => TimePlot.words(value);
const bound = (value, isKnown) => (value === null && isKnown ? "∞" : figure(value));

function age(seconds) {
  if (seconds === null) return "–";
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  return whole < 7200 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3600)} h`;
}

/* An amount with its unit; bytes as GiB, since nobody reads eleven digits. */
function amount(value, unit) {
  if (value === null) return "–";
  if (unit === "bytes") return `${figure(value / 2 ** 30)} GiB`;
  return `${figure(value)}${{ seconds: " s", per_second: "/s", celsius: " °C" }[unit] ?? ""}`;
}

/* A Kubernetes quantity as the adapter writes it: whole, or in thousandths. */
const quantity = (text) => (text === null ? null : text.endsWith("m") ? Number(text.slice(0, -1)) / 1000 : Number(text));

const labelText = (labels) => Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(",");
const keyOf = (one) => [one.namespace, one.policy, labelText(one.labels)].map(encodeURIComponent).join("/");

async function read(parameters) {
  const query = new URLSearchParams(parameters);
  const answer = await fetch(`explain?${query}`, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MILLISECONDS) });
  if (!answer.ok) throw new Error((await answer.text()).split("\n")[0] || `status ${answer.status}`);
  return answer.json();
}

async function refresh() {
  const turn = (page.reading += 1);
  try {
    const list = await read({ summary: "true" });
    if (turn !== page.reading) return;
    // What has no value comes first: that is what somebody who opens this page looks for.
    page.signals = list.signals.sort((one, other) => (one.reason === null) - (other.reason === null));
    page.now = list.now;
    showList();
    if (!page.chosen && page.signals.length === 1) page.chosen = keyOf(page.signals[0]);
    await showChosen(turn);
    if (turn !== page.reading) return;
    const without = page.signals.filter((one) => one.reason !== null).length;
    const count = `${page.signals.length} signal${page.signals.length === 1 ? "" : "s"}`;
    say(`${count}, ${without || "none"} without a value; as of ${TimePlot.clock(page.now, true)}, in local time`, false);
  } catch (error) {
    if (turn !== page.reading) return;
    const since = page.now ? `what is shown is of ${TimePlot.clock(page.now, true)}` : "nothing is shown yet";
    say(`cannot read from the adapter (${error.message}); ${since}`, true);
  }
}

function say(text, isBad) {
  find("state").textContent = text;
  find("state").className = isBad ? "bad" : "";
}

function showList() {
  const wanted = find("filter").value.trim().toLowerCase().split(/\s+/);
  const text = (one) => `${one.namespace}/${one.policy} ${one.metric} ${labelText(one.labels)} ${one.reason ?? ""}`.toLowerCase();
  const matching = page.signals.filter((one) => wanted.every((word) => text(one).includes(word)));
  const rows = matching.slice(0, MOST_ROWS).map(row);
  const kept = new Set(rows);
  // A row that stays is left where it is, so that the focus and the mouse stay on it.
  const list = find("signals");
  for (const old of [...list.children]) if (!kept.has(old)) old.remove();
  rows.forEach((one, place) => { if (list.children[place] !== one) list.insertBefore(one, list.children[place] ?? null); });
  for (const key of page.rows.keys()) if (!kept.has(page.rows.get(key))) page.rows.delete(key);
  const rest = matching.length - rows.length;
  const words = !page.signals.length ? "No policy is in force." : !matching.length ? "No signal matches the filter."
    : rest ? `${rest} more; filter to see them` : "";
  find("more").textContent = words;
  find("more").hidden = !words;
}

function row(one) {
  const key = keyOf(one);
  let made = page.rows.get(key);
  if (!made) {
    const button = make("button", "", make("span", "name"), make("span", "asked"), make("span", "labels"));
    button.type = "button";
    button.addEventListener("click", () => { location.hash = key; });
    made = make("li", "", button);
    page.rows.set(key, made);
  }
  const [name, asked, labels] = made.firstChild.children;
  name.textContent = `${one.namespace}/${one.policy}`;
  asked.textContent = one.reason ?? figure(quantity(one.value));
  asked.className = one.reason === null ? "asked" : "asked bad";
  labels.textContent = labelText(one.labels);
  made.firstChild.setAttribute("aria-current", key === page.chosen);
  made.firstChild.title = one.headline;
  return made;
}

async function showChosen(turn) {
  const one = page.signals.find((each) => keyOf(each) === page.chosen);
  if (!one) {
    if (page.chosen) showNothing(`${readable(page.chosen)} is not served now.`);
    return;
  }
  const labelSelector = labelText(one.labels);
  const answer = await read({ namespace: one.namespace, policy: one.policy, labelSelector, history: "true" });
  if (turn !== page.reading || keyOf(one) !== page.chosen) return;
  const found = answer.signals.find((each) => keyOf(each) === page.chosen);
  if (found) show(found, answer.now);
}

function readable(key) {
  try {
    return decodeURIComponent(key);
  } catch {
    return key; // an address that somebody cut off within a %
  }
}

function showNothing(text) {
  page.shown = "";
  page.plot = null;
  find("detail").replaceChildren(make("p", "soft", text));
}

function chosen() {
  page.chosen = location.hash.slice(1);
  for (const [key, made] of page.rows) made.firstChild.setAttribute("aria-current", key === page.chosen);
  refresh().then(() => { if (matchMedia("(max-width: 860px)").matches) find("detail").scrollIntoView(); });
}

find("filter").addEventListener("input", showList);
find("pause").addEventListener("click", () => {
  page.isPaused = !page.isPaused;
  find("pause").setAttribute("aria-pressed", page.isPaused);
  find("pause").textContent = page.isPaused ? "Go on" : "Pause";
  if (!page.isPaused) refresh();
});
window.addEventListener("hashchange", chosen);
document.addEventListener("visibilitychange", () => { if (!document.hidden && !page.isPaused) refresh(); });
setInterval(() => { if (!document.hidden && !page.isPaused) refresh(); }, REFRESH_MILLISECONDS);
page.chosen = location.hash.slice(1);
refresh();
