"use strict";
/*
 * A plot of numbers that hold from one moment to the next: lines as steps, a band between two of them, and the moments
 * at which there was no value. Read with the mouse, a finger or the arrow keys; what is under the cursor stands above it.
 *
 * new TimePlot(host, {label, lines: [{key, name, look}], band: {low, high, name}, missing: {key, name}})
 *   .show({from, to, step, t: [...], columns: {key: [...]}, shades: [{from, to, look}]})
 * A null breaks a line; a band whose high is null reaches to the top. Band, missing and shades may be left out.
 */
class TimePlot {
  static HEIGHT = 250;
  static RULES_SECONDS = [60, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
  static MARGIN = { top: 10, right: 12, bottom: 24, left: 40 };

  constructor(host, shape) {
    this.host = host;
    this.shape = shape;
    this.data = null;
    this.at = null;
    host.classList.add("plot");
    this.readout = host.appendChild(document.createElement("p"));
    this.readout.className = "readout";
    this.svg = host.appendChild(TimePlot.node("svg", {
      tabindex: "0", role: "slider", "aria-label": shape.label, "aria-valuemin": "0", height: TimePlot.HEIGHT,
    }));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.choose(null));
    this.svg.addEventListener("blur", () => this.choose(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  static node(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  static words(value) {
    return value === null || value === undefined ? "–" : String(Number(value.toPrecision(6)));
  }

  static clock(seconds, withSeconds) {
    const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    if (withSeconds) options.second = "2-digit";
    return new Date(seconds * 1000).toLocaleTimeString("en-GB", options);
  }

  /* How a moment is written; a page may have another clock. */
  clock(seconds, withSeconds) {
    return TimePlot.clock(seconds, withSeconds);
  }

  show(data) {
    const chosen = this.at === null || this.data === null ? null : this.data.t[this.at];
    this.data = data;
    this.at = chosen === null ? null : this.nearest(chosen);
    this.draw();
  }

  /* The moment up to which a point holds: the next one, unless that is so late that some are missing between. */
  until(place) {
    const { t, step, to } = this.data;
    const gaps = t.slice(1).map((time, index) => time - t[index]).sort((a, b) => a - b);
    const usual = Math.max(step, gaps.length ? gaps[Math.floor(gaps.length / 2)] : step);
    const next = place + 1 < t.length ? t[place + 1] : to;
    return next - t[place] > 2.5 * usual ? t[place] + usual : next;
  }

  draw() {
    const width = this.host.clientWidth;
    if (!this.data || width < 50) return;
    const { HEIGHT, MARGIN } = TimePlot;
    const { from, to, t } = this.data;
    const top = this.highest();
    this.x = (time) => MARGIN.left + ((time - from) / (to - from)) * (width - MARGIN.left - MARGIN.right);
    this.y = (value) => HEIGHT - MARGIN.bottom - (Math.min(value, top) / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    this.ends = t.map((_, place) => this.x(this.until(place)));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.replaceChildren(...this.rules(width, top), ...this.areas(top), ...this.lines());
    this.cursor = this.svg.appendChild(TimePlot.node("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }));
    this.tell();
  }

  /* The top of the scale: what is asked for and what is there decide; a high bound must not press them flat. */
  highest() {
    const { columns } = this.data;
    const { band, lines } = this.shape;
    const largest = (values) => values.reduce((most, value) => (value === null ? most : Math.max(most, value)), 0);
    const main = largest([...lines.map((line) => largest(columns[line.key])), band ? largest(columns[band.low]) : 0]);
    return TimePlot.round(Math.max(1, main, band ? Math.min(largest(columns[band.high]), 1.6 * main) : 0) * 1.05);
  }

  static round(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((one) => one * power >= value) * power;
  }

  rules(width, top) {
    const { HEIGHT, MARGIN, node } = TimePlot;
    const made = [];
    const step = [0.1, 0.25, 0.5, 1, 2, 5, 10].map((one) => one * 10 ** Math.floor(Math.log10(top)))
      .find((one) => top / one <= 5.5);
    for (let value = 0; value <= top + step / 1000; value += step) {
      const y = this.y(value);
      made.push(node("line", { class: "rule", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }));
      made.push(node("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, TimePlot.words(value)));
    }
    const { from, to } = this.data;
    const room = Math.max(2, Math.floor((width - MARGIN.left) / 70));
    const every = TimePlot.RULES_SECONDS.find((one) => (to - from) / one <= room) ?? 2592000;
    for (let time = Math.ceil(from / every) * every; time <= to; time += every) {
      const x = this.x(time);
      if (x > width - 24) continue;
      made.push(node("line", { class: "rule", x1: x, x2: x, y1: HEIGHT - MARGIN.bottom, y2: HEIGHT - MARGIN.bottom + 4 }));
      made.push(node("text", { x, y: HEIGHT - 6, "text-anchor": "middle" }, this.clock(time)));
    }
    return made;
  }

  areas(top) {
    const { columns, t } = this.data;
    const { band, missing } = this.shape;
    const paths = { band: "", "band-open": "", missing: "" };
    t.forEach((time, place) => {
      const box = (low, high) => `M${this.x(time)} ${this.y(low)}H${this.ends[place]}V${this.y(high)}H${this.x(time)}Z`;
      const low = band ? columns[band.low][place] : null;
      const high = band ? columns[band.high][place] : null;
      if (low !== null) paths[high === null ? "band-open" : "band"] += box(low, high ?? top);
      if (missing && columns[missing.key][place] !== null) paths.missing += box(0, top);
    });
    for (const shade of this.data.shades ?? []) {
      const end = Math.max(this.x(shade.to), this.x(shade.from) + 2);
      paths[shade.look] = `${paths[shade.look] ?? ""}M${this.x(shade.from)} ${this.y(0)}H${end}V${this.y(top)}H${this.x(shade.from)}Z`;
    }
    return Object.entries(paths).filter(([, path]) => path)
      .map(([look, path]) => TimePlot.node("path", { class: look, d: path }));
  }

  lines() {
    return this.shape.lines.map(({ key, look }) => {
      let path = "";
      let end = null;
      this.data.columns[key].forEach((value, place) => {
        if (value === null) { end = null; return; }
        const x = this.x(this.data.t[place]);
        path += `${end !== null && Math.abs(end - x) < 0.01 ? "L" : "M"}${x} ${this.y(value)}H${this.ends[place]}`;
        end = this.ends[place];
      });
      return TimePlot.node("path", { class: `line ${look}`, d: path });
    });
  }

  point(event) {
    if (!this.data || !this.data.t.length) return;
    const box = this.svg.getBoundingClientRect();
    const { left, right } = TimePlot.MARGIN;
    const share = (event.clientX - box.left - left) / (box.width - left - right);
    this.choose(this.nearest(this.data.from + share * (this.data.to - this.data.from)));
  }

  /* The last point that is not after a moment. */
  nearest(time) {
    let found = 0;
    this.data.t.forEach((one, place) => { if (one <= time) found = place; });
    return this.data.t.length ? found : null;
  }

  key(event) {
    const last = (this.data?.t.length ?? 0) - 1;
    const now = this.at ?? last + 1;
    const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.choose(Math.max(0, Math.min(last, to)));
  }

  choose(place) {
    this.at = place;
    if (this.data && this.cursor) this.tell();
  }

  /* Say what is under the cursor; without one, what is newest. */
  tell() {
    const { t, columns } = this.data;
    const last = t.length - 1;
    const place = this.at ?? last;
    this.cursor.style.display = this.at === null ? "none" : "";
    if (this.at !== null) for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.x(t[place]));
    const { band, lines, missing } = this.shape;
    const reason = place < 0 || !missing ? null : columns[missing.key][place];
    const bound = (value) => (value === null && columns[band.low][place] !== null ? "∞" : TimePlot.words(value));
    const items = [["", "", place < 0 ? "no point yet" : this.clock(t[place], true)]];
    for (const line of lines) items.push([line.look, line.name, TimePlot.words(columns[line.key][place])]);
    if (band) items.push(["band", band.name, `${TimePlot.words(columns[band.low][place])} – ${bound(columns[band.high][place])}`]);
    if (missing && columns[missing.key].some((one) => one !== null)) items.push(["missing", missing.name, reason ?? "none here"]);
    this.readout.replaceChildren(...items.map(([look, name, words]) => {
      const item = document.createElement("span");
      if (look) item.appendChild(document.createElement("span")).className = `swatch ${look}`;
      item.append(name ? `${name} ` : "");
      item.appendChild(document.createElement("b")).textContent = words;
      return item;
    }));
    this.svg.setAttribute("aria-valuemax", Math.max(last, 0));
    this.svg.setAttribute("aria-valuenow", Math.max(place, 0));
    this.svg.setAttribute("aria-valuetext", this.readout.textContent);
  }
}
