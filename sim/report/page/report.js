"use strict";
/*
 * The report: plots, decision strip and arithmetic that share one moment, which mouse, finger and arrow keys move. Every
 * text is put in as text, never as markup.
 */
const report = JSON.parse(document.getElementById("data").textContent);

const make = (name, look, ...content) => {
  const made = document.createElement(name);
  if (look) made.className = look;
  made.append(...content.filter((one) => one !== null && one !== undefined).map((one) => (one instanceof Node ? one : String(one))));
  return made;
};
const fill = (id, ...content) => document.getElementById(id).replaceChildren(...content);

/* Time on the trace's own clock: 0:12:30, 3 d 04:00. */
function elapsed(seconds, withSeconds) {
  const whole = Math.round(Math.abs(seconds) * 1000) / 1000;
  const two = (number) => String(number).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  const hours = Math.floor((whole % 86400) / 3600);
  const rest = Math.round((whole % 60) * 1000) / 1000;
  const tail = withSeconds ? `:${rest < 10 ? "0" : ""}${rest}` : "";
  const words = `${days ? two(hours) : hours}:${two(Math.floor((whole % 3600) / 60))}${tail}`;
  return `${seconds < 0 ? "−" : ""}${days ? `${days} d ` : ""}${words}`;
}

const last = report.t.length - 1;
const from = report.t[0] ?? 0;
const to = (report.t[last] ?? 0) + report.period;
const columns = new Proxy(report.columns, { get: (all, key) => all[key] ?? report.t.map(() => null) });

/* The last point that is not after a moment. */
function placeOf(time) {
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (report.t[middle] <= time) low = middle; else high = middle - 1;
  }
  return low;
}

/* One moment for every view. */
const cursor = {
  views: [], place: last,
  move(place) {
    this.place = Math.max(0, Math.min(last, place));
    for (const view of this.views) view.mark(this.place);
    tellDecision(this.place);
  },
  rescale(way) {
    const isRescale = (place) => report.kinds[place] === "up" || report.kinds[place] === "down";
    for (let place = this.place + way; place >= 0 && place <= last; place += way) {
      if (isRescale(place)) { this.move(place); return; }
    }
  },
};

/* A plot whose points hold until the next one that was kept, and whose cursor stays where it was put. */
class TracePlot extends TimePlot {
  clock(seconds, withSeconds) { return elapsed(seconds, withSeconds); }
  until(place) { return place < last ? report.t[place + 1] : to; }
  nearest(time) { return last < 0 ? null : placeOf(time); }
  choose(place) { if (place !== null) cursor.move(place); }
  mark(place) { super.choose(place); }
  key(event) { if (!event.ctrlKey && !event.metaKey && !event.altKey) super.key(event); }
}

/* What was decided at each sync, as colours; rescales are drawn last and at least two pixels wide. */
class Strip {
  static HEIGHT = 30;
  static NAMES = {
    up: "scaled up", down: "scaled down", limited: "held by a limit", held: "held by a window", failed: "no decision",
    steady: "nothing to do",
  };

  constructor(host) {
    this.host = host;
    host.classList.add("plot", "strip");
    host.append(make("h3", "", "Decisions"));
    this.svg = host.appendChild(TimePlot.node("svg", { height: Strip.HEIGHT, role: "img", "aria-label": "Decisions over time" }));
    const seen = Object.keys(Strip.NAMES).filter((kind) => report.kinds.includes(kind));
    host.append(make("p", "key", ...seen.map((kind) => make("span", "", make("i", kind), Strip.NAMES[kind]))));
    const point = (event) => {
      const box = this.svg.getBoundingClientRect();
      const { left, right } = TimePlot.MARGIN;
      cursor.move(placeOf(from + ((event.clientX - box.left - left) / (box.width - left - right)) * (to - from)));
    };
    this.svg.addEventListener("pointermove", point);
    this.svg.addEventListener("pointerdown", point);
    new ResizeObserver(() => this.draw()).observe(host);
  }

  draw() {
    const width = this.host.clientWidth;
    if (width < 50 || last < 0) return;
    const { left, right } = TimePlot.MARGIN;
    this.x = (time) => left + ((time - from) / (to - from)) * (width - left - right);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${Strip.HEIGHT}`);
    const paths = {};
    for (let place = 0; place <= last;) {
      const kind = report.kinds[place];
      const begin = this.x(report.t[place]);
      const isRescale = kind === "up" || kind === "down";
      const own = this.x(report.t[place] + report.period);
      place += 1;
      while (!isRescale && place <= last && report.kinds[place] === kind) place += 1;
      // A rescale is one sync; where syncs after it were left out, what they were is not painted.
      const until = isRescale ? own : this.x(place <= last ? report.t[place] : to);
      const end = Math.max(until, begin + (kind === "steady" ? 0 : last > 2000 ? 1 : 2));
      paths[kind] = `${paths[kind] ?? ""}M${begin} 4H${end}V26H${begin}Z`;
    }
    const order = ["steady", "held", "limited", "failed", "down", "up"].filter((kind) => paths[kind]);
    this.svg.replaceChildren(...order.map((kind) => TimePlot.node("path", { class: kind, d: paths[kind] })));
    this.line = this.svg.appendChild(TimePlot.node("line", { class: "cursor", y1: 0, y2: Strip.HEIGHT }));
    this.mark(cursor.place);
  }

  mark(place) {
    if (this.line) for (const end of ["x1", "x2"]) this.line.setAttribute(end, this.x(report.t[place]));
  }
}

function tellDecision(place) {
  if (last < 0) return;
  const now = columns.limited[place];
  const before = columns.before[place];
  const faults = report.faults.filter((one) => one.from <= report.t[place] && report.t[place] < one.to);
  fill("at", `${elapsed(report.t[place], true)}: ${before === now ? `stays at ${now}` : `${before} → ${now}`}`);
  fill("reasons", ...report.reasons[place].map((one) => make("li", "", report.texts[one])),
    ...faults.map((one) => make("li", "bad", `fault: ${one.words}`)));
  const lines = report.lines[place];
  fill("arithmetic", ...(lines.length ? lines.map((one) => make("li", "", report.texts[one]))
    : [make("li", "soft", "The arithmetic of this sync is not in the report.")]));
}

function drawPlots() {
  const host = document.getElementById("plots");
  const shades = report.faults.map((one) => ({ from: Math.max(from, one.from), to: Math.min(to, one.to), look: "fault" }))
    .filter((one) => one.from < to && one.to > from);
  const data = { from, to, step: report.period, t: report.t, columns, shades };
  const add = (title, shape) => {
    host.append(make("h3", "", title));
    const plot = new TracePlot(host.appendChild(make("div")), shape);
    plot.show(data);
    cursor.views.push(plot);
  };
  report.metrics.forEach((name, number) => {
    const start = `term${number} `;
    const terms = Object.keys(report.columns).filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
    const lines = [];
    if (report.baseline) lines.push({ key: `base_signal${number}`, name: "baseline", look: "ghost" });
    if (terms.length > 1) {
      terms.forEach((term, place) => lines.push({ key: `term${number} ${term}`, name: `U of ${term}`, look: `term${place % 6}` }));
    }
    lines.push({ key: `signal${number}`, name: "signal", look: "value" });
    add(`Signal ${name}`, {
      label: `Signal ${name} over time`, lines, band: { low: `up${number}`, high: `down${number}`, name: "U – D" },
      missing: { key: `missing${number}`, name: "no value" },
    });
  });
  const lines = [
    { key: "proposal", name: "proposal", look: "proposal" }, { key: "stabilized", name: "stabilised", look: "stabilized" },
    { key: "ready", name: "ready", look: "ready" }, { key: "limited", name: "limited (spec.replicas)", look: "limited" },
  ];
  // Later lines lie over earlier ones, and the run's own over the baseline's.
  if (report.baseline) lines.unshift({ key: "base_replicas", name: "baseline", look: "ghost" });
  add("Replicas", { label: "Replicas over time", lines });
  const strip = new Strip(document.getElementById("strip"));
  cursor.views.push(strip);
}

const SCORES = [
  ["Cost", ["replica_hours", "gpu_hours", "pod_starts", "most_replicas", "seconds_at_ceiling"]],
  ["Supply against demand", ["highest_demand", "longest_under_demand_seconds", "steps_reached", "steps_gone",
    "seconds_to_reach_p50", "seconds_to_reach_p95", "theta_under", "theta_over", "tau_under", "tau_over"]],
  ["Rest", ["rescales", "flaps", "syncs", "seconds", "syncs_without_metric"]],
  ["A fixed number of replicas", ["fixed_at_peak.replicas", "fixed_at_peak.gpu_hours", "fixed_at_peak.theta_under",
    "fixed_at_peak.theta_over", "fixed_at_mean.replicas", "fixed_at_mean.gpu_hours", "fixed_at_mean.theta_under",
    "fixed_at_mean.theta_over"]],
];
const UNITS = { seconds: " (s)", theta: " (%)", tau: " (%)" };

function scoreName(name) {
  const unit = Object.entries(UNITS).find(([key]) => name.includes(key))?.[1] ?? "";
  return name.replace("seconds_", "").replace("_seconds", "").replace("gpu", "GPU").replaceAll("_", " ").replace(".", ": ")
    .replace("theta", "θ").replace("tau", "τ") + (name === "seconds" ? " (s)" : unit);
}

function drawScores() {
  const base = report.baseline_scores;
  const shown = (value) => (value === null || value === undefined ? "–" : String(value));
  const row = (name) => {
    const cells = [make("td", "", scoreName(name)), make("td", "figure", shown(report.scores[name]))];
    cells[1].dataset.score = name;
    if (base) {
      const known = typeof base[name] === "number" && typeof report.scores[name] === "number";
      const change = known ? Math.round((report.scores[name] - base[name]) * 10000) / 10000 : null;
      const words = change === null ? "–" : change === 0 ? "=" : `${change > 0 ? "+" : "−"}${Math.abs(change)}`;
      cells.push(make("td", "figure", shown(base[name])), make("td", "figure", words));
      cells[2].dataset.base = name;
      cells[3].dataset.delta = name;
    }
    return make("tr", "", ...cells);
  };
  const heads = ["", "run", ...(base ? ["baseline", "change"] : [])];
  const group = (title) => {
    const cell = make("td", "group", title);
    cell.colSpan = heads.length;
    return make("tr", "", cell);
  };
  fill("scores", make("thead", "", make("tr", "", ...heads.map((one) => make("th", "figure", one)))),
    make("tbody", "", ...SCORES.flatMap(([title, names]) => [group(title), ...names.filter((one) => one in report.scores).map(row)])));
}

function drawWords() {
  const { summary } = report;
  const isGood = summary.result === "conclusive";
  document.title = `${summary.policy}: scaleproof report`;
  fill("title", summary.policy);
  fill("verdict", make("span", isGood ? "good" : "bad",
    isGood ? "Conclusive: the run shows what would have happened" : "Inconclusive: the trace cannot show what would have happened"));
  fill("subject", `HPA ${summary.hpa} · trace ${summary.trace} · mode ${summary.mode}${report.baseline ? ` · baseline ${report.baseline}` : ""}`);
  fill("findings", ...summary.findings.map((one) => make("li", one.inconclusive ? "bad" : "", one.message)));
  fill("shown", report.shown);
  fill("notes", ...summary.said.map((one) => make("li", "", one)));
  fill("parameters", ...Object.entries(summary.parameters).filter(([, value]) => value !== null)
    .flatMap(([name, value]) => [make("dt", "", name.replaceAll("_", " ")), make("dd", "", value)]));
  document.getElementById("faults").hidden = report.faults.length === 0;
  fill("faultlist", ...report.faults.map((one) => make("li", "", `${elapsed(one.from, true)}: ${one.words}`,
    one.seconds ? ` for ${one.seconds} s` : "")));
  const { total, rows } = report.rescales;
  fill("rescaletitle", `${total} rescales`);
  fill("rescales", make("tbody", "", ...rows.map(([t, change, reasons]) => {
    const button = make("button", "", elapsed(t, true));
    button.type = "button";
    button.addEventListener("click", () => cursor.move(placeOf(t)));
    return make("tr", "", make("td", "", button), make("td", "", change), make("td", "", reasons));
  })));
  fill("more", total > rows.length ? `The first ${rows.length} are listed; the plots have all that is said above.` : "");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const move = {
    ArrowLeft: () => cursor.move(cursor.place - 1), ArrowRight: () => cursor.move(cursor.place + 1),
    n: () => cursor.rescale(1), p: () => cursor.rescale(-1),
    Home: () => cursor.move(0), End: () => cursor.move(last),
  }[event.key];
  if (!move) return;
  event.preventDefault();
  move();
});

drawWords();
drawScores();
if (last >= 0) {
  drawPlots();
  const first = report.kinds.findIndex((kind) => kind === "up" || kind === "down");
  cursor.move(first < 0 ? last : first);
}
