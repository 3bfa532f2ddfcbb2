/* The account of one signal as elements: the sentence, the numbers, the plot, and how they came about. */

/* Show an account. The plot stays while the signal does, so that a cursor on it is not lost; the rest is made anew. */
function show(account, now) {
  const detail = find("detail");
  if (page.shown !== page.chosen || !page.plot) {
    page.shown = page.chosen;
    const host = make("div", "");
    const section = make("section", "", make("h3", ""), host);
    detail.replaceChildren(make("div", "above"), section, make("div", "below"));
    page.plot = new TimePlot(host, {
      label: "The last hour: value, replicas and the interval of the demand",
      lines: [{ key: "n", name: "N", look: "replicas" }, { key: "value", name: "value", look: "value" }],
      band: { low: "up", high: "down", name: "U – D" },
      missing: { key: "reason", name: "no value" },
    });
  }
  const [above, section, below] = detail.children;
  above.replaceChildren(summary(account, now));
  section.hidden = !account.history;
  if (account.history) {
    // Soon after a start an hour would be empty but for its end.
    const spans = { "10 minutes": HOUR / 6, "30 minutes": HOUR / 2, hour: HOUR };
    const first = account.history.t[0] ?? now;
    const [name, span] = Object.entries(spans).find(([, seconds]) => first >= now - seconds) ?? ["hour", HOUR];
    section.firstChild.textContent = `The last ${name}`;
    const { t, step_seconds: step, ...columns } = account.history;
    page.plot.show({ from: now - span, to: now, step, t, columns: { ...columns, value: asReplicas(account, columns) } });
  }
  below.replaceChildren(...parts(account, now));
}

/* Only replicas stand on a scale with N, U and D; of a total or a ratio, the replicas that it stands for are plotted. */
function asReplicas(account, { value, n, up, down }) {
  if (account.published_as === "replicas") return value;
  return value.map((one, place) => (one === null ? null : n[place] === null ? up[place]
    : Math.max(up[place], Math.min(n[place], down[place] ?? n[place]))));
}

function summary(account, now) {
  const why = account.why;
  const tiles = make("dl", "tiles");
  const tile = (name, words, small) => {
    tiles.append(make("div", "", make("dt", "", name), make("dd", "", words, small ? make("small", "", ` ${small}`) : null)));
  };
  tile("value", account.value === null ? "none" : figure(quantity(account.value)), account.value?.endsWith("m") ? account.value : "");
  tile("U, needed", figure(why?.up ?? null));
  tile("D, justified", bound(why?.down ?? null, why !== null));
  tile("N, replicas", figure(why?.n ?? null), why?.ready === null || !why ? "" : `${why.ready} ready`);
  tile("oldest sample", account.as_of === null ? "–" : `${age(now - account.as_of)}`, account.as_of === null ? "" : "ago");
  tile("evaluated", account.t === null ? "–" : TimePlot.clock(account.t, true), account.t === null ? "" : `${age(now - account.t)} ago`);
  const labels = labelText(account.labels);
  return make("div", account.reason === null ? "summary" : "summary none",
    make("h2", "", `${account.namespace}/${account.policy}${labels ? ` {${labels}}` : ""}`),
    make("p", "headline", account.headline), tiles,
    make("p", "soft", `metric ${account.metric}, published as ${account.published_as}`));
}

function parts(account, now) {
  const why = account.why;
  const made = [];
  if (why) {
    made.push(part("Terms", table(
      [["term", "name"], ["kind"], ["U", "figure"], ["D", "figure"], ["how", "wide arithmetic"]],
      why.terms.map((one) => [one.name, one.kind, figure(one.up), bound(one.down, true), one.text]))));
    made.push(part("Inputs", table(
      [["input", "name"], ["sum", "figure"], ["pods", "figure"], ["smallest – largest", "figure"], ["age", "figure"], ["problem", "wide"]],
      why.inputs.map((one) => [
        one.name, amount(one.total, one.unit), String(one.pods),
        one.smallest === null ? "–" : `${amount(one.smallest, one.unit)} – ${amount(one.largest, one.unit)}`,
        age(one.as_of === null ? null : now - one.as_of),
        one.reason === null ? one.message : make("span", "bad", `${one.reason}: ${one.message}`),
      ]))));
    made.push(make("div", "trio", guards(why), diagnosis(why), part("Steps", make("ol", "", ...why.steps.map(item)))));
    if (why.notes.length) made.push(part("Notes", make("ul", "", ...why.notes.map(item))));
  }
  made.push(part("Last changes", account.changes.length ? table(
    [["when", ""], ["asks for", "strong"], ["decided by", "wide"]],
    account.changes.map((one) => [
      TimePlot.clock(one.t, true), change(one),
      one.reason === null ? one.decided_by : make("span", "bad", one.decided_by),
    ])) : make("p", "soft", "None since this adapter started.")));
  return made;
}

function change({ before, after, first }) {
  const words = (replicas) => replicas ?? "no value";
  if (first) return `first seen: ${words(after)}`;
  return before === after ? `still ${words(after)}` : `${words(before)} → ${words(after)}`;
}

const item = (text) => make("li", "", text);
const part = (name, ...content) => make("section", "", make("h3", "", name), ...content);

function guards(why) {
  if (!why.guards.length) return part("Guards", make("p", "soft", "None."));
  return part("Guards", make("ul", "", ...why.guards.map((one) => {
    const way = one.direction === "up" ? "nothing may come" : "nothing may go";
    return make("li", one.is_holding ? "bad" : "", one.is_holding ? `${one.text} (${way})` : one.text);
  })));
}

function diagnosis(why) {
  if (!why.diagnosis) return part("Diagnosis", make("p", "soft", "No known limit fits the inputs."));
  const helps = why.diagnosis.replicas_help;
  return part("Diagnosis", make("p", "", make("b", "", why.diagnosis.name), `: ${why.diagnosis.about} `,
    make("span", helps ? "good" : "bad", helps ? "More replicas help." : "More replicas do not help.")));
}

function table(columns, rows) {
  const head = make("tr", "", ...columns.map(([name, look]) => make("th", look?.includes("figure") ? "figure" : "", name)));
  const body = rows.map((cells) => make("tr", "", ...cells.map((cell, place) => {
    const [name, look] = columns[place];
    const made = make("td", look ?? "", cell);
    if (place > 0 && look && look !== "strong" && !look?.includes("wide")) made.dataset.label = name;
    return made;
  })));
  return make("table", "", make("thead", "", head), make("tbody", "", ...body));
}
