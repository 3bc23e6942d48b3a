// What the page of a timeline shows and how it answers: lanes and arrows, which lines are shown,
// how things stand after the chosen step, the keys. Everything told of the run is in its data.
"use strict";
// Lists of the data, by place: see data.rs and state.rs beside this file.
const data = JSON.parse(document.getElementById("data").textContent);
const STEP = 0, TIME = 1, ACTOR = 2, CLASS = 3, FLAGS = 4, RULES = 5, CHANGES = 6;
const ROUTINE = 1, BROKEN = 2, CONCERN = 4;
const $ = (id) => document.getElementById(id);
const flow = $("flow"), canvas = $("canvas"), drawing = $("drawing"), panel = $("state");
const items = Array.from($("rows").children);
const rows = data.rows;
const ROW = 22;

// Lanes.
const lane = data.actors.length <= 6 ? 52 : data.actors.length <= 9 ? 40 : data.actors.length <= 13 ? 32 : 26;
const x = (actor) => actor * lane + lane / 2;
const width = data.actors.length * lane;
document.documentElement.style.setProperty("--lanes", width + "px");

function make(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function draw(tag, props, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

// Of a line, the last step before it or its own: what the world does is of none.
const stepOf = [];
rows.reduce((step, row, at) => (stepOf[at] = Math.max(step, row[STEP])), 0);

// Arrows by the lines that they touch.
const touching = rows.map(() => []);
data.arrows.forEach((arrow, at) => {
  for (const row of [arrow[0], arrow[2]]) if (row >= 0) touching[row].push(at);
});

// Which lines are shown, and where.
let now = 0, shown = [], place = [];
const wanted = { actor: "", concern: false, routine: false, text: "" };

function passes(at) {
  const row = rows[at];
  if (at === now) return true;
  if (!wanted.routine && row[FLAGS] & ROUTINE) return false;
  if (wanted.concern && !(row[FLAGS] & (CONCERN | BROKEN))) return false;
  return wanted.actor === "" || row[ACTOR] === Number(wanted.actor)
    || touching[at].some((one) => data.arrows[one][1] === Number(wanted.actor) || data.arrows[one][3] === Number(wanted.actor));
}

function layout() {
  shown = [];
  place = [];
  rows.forEach((row, at) => {
    const is = passes(at);
    place[at] = shown.length;
    items[at].hidden = !is;
    if (is) shown.push(at);
  });
  drawing.setAttribute("height", shown.length * ROW);
  drawing.setAttribute("width", width);
  const slider = $("slider");
  slider.max = Math.max(shown.length - 1, 0);
  ticks();
  search();
  paint();
}

const y = (at) => place[at] * ROW + ROW / 2;

// The lives of processes, by actor: from which line on what.
function lives(first, last) {
  const lines = [];
  data.actors.forEach((name, actor) => {
    const turns = data.lives.filter((life) => life[1] === actor);
    let from = -1, what = "lane";
    const add = (to, next) => {
      const top = from < 0 ? 0 : place[from] * ROW, end = to >= rows.length ? shown.length * ROW : place[to] * ROW;
      if (end > first * ROW && top < last * ROW && end > top) {
        lines.push(draw("line", { class: what, x1: x(actor), x2: x(actor), y1: Math.max(top, first * ROW), y2: Math.min(end, last * ROW) }));
      }
      from = to;
      what = next;
    };
    for (const [row, , turn] of turns) {
      add(row, turn === "d" ? "down" : turn === "s" ? "stalled" : "lane");
    }
    add(rows.length, "lane");
  });
  return lines;
}

function arrow(at, first, last) {
  const [row, actor, to, toActor, kind] = data.arrows[at];
  const hasFrom = row >= 0 && !items[row].hidden, hasTo = to >= 0 && !items[to].hidden;
  if (!hasFrom && !hasTo) return [];
  const y1 = hasFrom ? y(row) : y(to), y2 = hasTo ? y(to) : kind === 2 ? y1 + ROW * 0.6 : y1;
  if (Math.max(y1, y2) < first * ROW || Math.min(y1, y2) > last * ROW) return [];
  const own = row === now || to === now;
  const far = Math.abs(y2 - y1) > 12 * ROW;
  const name = [kind === 1 ? "answer" : kind === 2 ? "lost" : "request", own ? "own" : far || !hasFrom || !hasTo ? "faint" : ""].join(" ");
  const x1 = x(actor);
  let x2 = x(toActor);
  if (kind === 2) x2 = x1 + (x2 - x1) * 0.6;
  const parts = [draw("path", { class: name, d: `M${x1} ${y1}L${x2} ${y2}` })];
  if (kind === 2) return [...parts, draw("text", { x: x2, y: y2 + 4 }, "✕")];
  const angle = Math.atan2(y2 - y1, x2 - x1), size = own ? 9 : 7;
  const corner = (turn) => `${x2 - 3 * Math.cos(angle) - size * Math.cos(angle + turn)},${y2 - 3 * Math.sin(angle) - size * Math.sin(angle + turn)}`;
  const tip = `${x2 - 3 * Math.cos(angle)},${y2 - 3 * Math.sin(angle)}`;
  return [...parts, draw("polygon", { class: name, points: `${tip} ${corner(0.38)} ${corner(-0.38)}` })];
}

// Only what is in sight is drawn.
function paint() {
  const first = Math.max(Math.floor(flow.scrollTop / ROW) - 12, 0);
  const last = first + Math.ceil(flow.clientHeight / ROW) + 24;
  const parts = lives(first, last);
  const seen = new Set();
  for (const at of shown.slice(Math.max(first - 400, 0), last + 400)) for (const one of touching[at]) seen.add(one);
  for (const one of touching[now] || []) seen.add(one);
  for (const one of seen) parts.push(...arrow(one, first, last));
  for (const at of shown.slice(first, last)) {
    const row = rows[at];
    const name = [row[CLASS], row[FLAGS] & BROKEN ? "broken" : "", at === now ? "now" : ""].join(" ");
    parts.push(draw("circle", { class: name, cx: x(row[ACTOR]), cy: y(at), r: at === now ? 5.5 : 3.2 }));
  }
  drawing.replaceChildren(...parts);
}

let painting = false;
flow.addEventListener("scroll", () => {
  if (painting) return;
  painting = true;
  requestAnimationFrame(() => { painting = false; paint(); });
}, { passive: true });
addEventListener("resize", () => { ticks(); paint(); });

// Faults and broken promises above the slider.
function ticks() {
  const parts = [];
  shown.forEach((at, place) => {
    const row = rows[at];
    const broken = row[FLAGS] & BROKEN, fault = row[CLASS] === "fault";
    if (!broken && !fault) return;
    const left = shown.length < 2 ? 0 : (100 * place) / (shown.length - 1);
    parts.push(draw("rect", { x: `${left}%`, y: 0, width: broken ? 3 : 1.5, height: 9, fill: `var(--${broken ? "broken" : "fault"})` }));
  });
  $("ticks").replaceChildren(...parts);
}

// How things stand after a step.
let stand, applied, touched;
function restart() {
  stand = { replicas: new Map(), transactions: new Map(), offsets: new Map(), clients: new Map() };
  applied = 0;
}

function apply(turn) {
  const [step, actor, what, one, ...rest] = turn;
  const key = `${actor} ${one}`;
  const replica = () => {
    if (!stand.replicas.has(key)) stand.replicas.set(key, { actor, partition: one, log: [], producers: [], aborted: [], touched: 0 });
    return stand.replicas.get(key);
  };
  if (what === "r") {
    const held = replica(), names = ["leads", "hosted", "epoch", "isr", "start", "high", "stable", "end"];
    names.forEach((name, at) => {
      if (String(held[name]) !== String(rest[at])) touched.add(`${key} ${name}`);
      held[name] = rest[at];
    });
    held.touched = step;
  } else if (what === "g") stand.replicas.delete(key);
  else if (what === "c") { const held = replica(); held.log = held.log.filter((batch) => data.batches[batch][0] < rest[0]); }
  else if (what === "s") { const held = replica(); held.log = held.log.filter((batch) => data.batches[batch][0] >= rest[0]); }
  else if (what === "d") { const held = replica(); held.log = held.log.filter((batch) => !rest[0].includes(data.batches[batch][0])); }
  else if (what === "u") {
    const held = replica(), base = data.batches[rest[0]][0];
    held.log = held.log.map((batch) => (data.batches[batch][0] === base ? rest[0] : batch));
    touched.add(`${key} batch ${rest[0]}`);
  } else if (what === "b") { replica().log.push(rest[0]); touched.add(`${key} batch ${rest[0]}`); }
  else if (what === "p") { replica().producers = rest[0]; touched.add(`${key} producers`); }
  else if (what === "x") replica().aborted.push(rest);
  else if (what === "i") replica().aborted = [...rest[0]];
  else if (what === "t") {
    if (rest[0] === null) stand.transactions.delete(key);
    else stand.transactions.set(key, { actor, id: one, held: rest[0] });
    touched.add(`transaction ${key}`);
  } else if (what === "o") { stand.offsets.set(actor, one); touched.add(`offsets ${actor}`); }
  else if (what === "k") { stand.clients.set(actor, one); touched.add(`client ${actor}`); }
}

function advance(step) {
  if (!stand || (applied > 0 && data.turns[applied - 1][0] >= step)) restart();
  touched = new Set();
  while (applied < data.turns.length && data.turns[applied][0] <= step) {
    if (data.turns[applied][0] < step) touched.clear();
    apply(data.turns[applied]);
    applied += 1;
  }
  if (applied > 0 && data.turns[applied - 1][0] < step) touched.clear();
}

function table(heads, body) {
  const head = make("tr", {}, ...heads.map(([name, num]) => make("th", { class: num === 1 ? "num" : "", scope: "col" }, name)));
  const row = (cells) => make("tr", {}, ...cells.map(([text, changed], at) => {
    const wraps = heads[at][1] === "wrap" || (at === 0 && String(text).length > 22);
    return make("td", { class: [heads[at][1] === 1 ? "num" : wraps ? "wrap" : "", changed ? "changed" : ""].join(" ") }, String(text));
  }));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body.map(row)));
}

const name = (actor) => data.actors[actor];
const broker = (actor) => name(actor).replace("broker-", "");
const hue = (producer) => (producer < 0 ? 220 : (producer * 67 + 205) % 360);

// Whose process is down where things are looked at.
function down() {
  const dead = new Set();
  for (const [row, actor, turn] of data.lives) {
    if (row > now) break;
    if (turn === "d") dead.add(actor);
    if (turn === "u") dead.delete(actor);
  }
  return dead;
}

function leaders() {
  const dead = down();
  const led = [...stand.replicas.values()].filter((held) => held.leads && !dead.has(held.actor));
  const internal = (held) => data.partitions[held.partition][1];
  led.sort((a, b) => internal(a) - internal(b) || a.partition - b.partition || a.epoch - b.epoch);
  return led;
}

function partitions() {
  const dead = down();
  const led = leaders().filter((held) => !data.partitions[held.partition][1] || held.end > 0);
  const end = (one, of) => (of && one.end === of.end ? "" : `:${one.end}`) + (one.hosted && !dead.has(one.actor) ? "" : " down");
  const others = (partition, held) => {
    const all = [...stand.replicas.values()].filter((one) => one.partition === partition && one !== held);
    all.sort((a, b) => a.actor - b.actor);
    const moved = all.some((one) => touched.has(`${one.actor} ${one.partition} end`));
    return [all.map((one) => broker(one.actor) + end(one, held)).join(", "), moved];
  };
  const body = led.map((held) => {
    const key = `${held.actor} ${held.partition}`;
    const cell = (field, text) => [text === undefined ? held[field] : text, touched.has(`${key} ${field}`)];
    return [[data.partitions[held.partition][0]], cell("leads", broker(held.actor)), cell("epoch"), cell("isr", held.isr.join(",")),
      cell("stable"), cell("high"), cell("end"), others(held.partition, held)];
  });
  const orphans = new Set([...stand.replicas.values()].map((one) => one.partition));
  for (const held of led) orphans.delete(held.partition);
  for (const partition of [...orphans].sort((a, b) => a - b)) {
    const ends = [...stand.replicas.values()].filter((one) => one.partition === partition).map((one) => one.end);
    if (data.partitions[partition][1] && Math.max(...ends) === 0) continue;
    body.push([[data.partitions[partition][0]], ["nobody"], ["–"], ["–"], ["–"], ["–"], ["–"], others(partition)]);
  }
  if (!body.length) return [make("p", { class: "none" }, "No broker holds anything.")];
  return [table([["partition"], ["led by"], ["epoch", 1], ["ISR"], ["LSO", 1], ["HW", 1], ["end", 1], ["others", "wrap"]], body)];
}

function strip(held) {
  const key = `${held.actor} ${held.partition}`;
  const SHOWN = 14;
  const marks = [["LSO", held.stable], ["HW", held.high]];
  const from = Math.max(held.log.length - SHOWN, 0);
  const cells = [];
  const bound = (offset) => {
    const here = marks.filter(([, at]) => at === offset).map(([label]) => label);
    if (here.length) cells.push(make("li", { class: "bound" }, ...here.map((label) => make("span", {}, label))));
  };
  if (from) cells.push(make("li", { class: "bound", title: "earlier batches" }, make("span", {}, `… ${from}`)));
  let drawn = -1;
  for (const at of held.log.slice(from)) {
    const [base, last, kind, label, id, epoch, sequence] = data.batches[at];
    for (let offset = Math.max(drawn + 1, base); offset <= base; offset += 1) bound(offset);
    const open = kind === "transactional" && held.producers.some((one) => one[0] === id && one[3] >= 0 && base >= one[3]);
    const gone = kind === "transactional" && held.aborted.some(([of, first, end]) => of === id && base >= first && last <= end);
    const classes = [kind, open ? "open" : "", gone ? "aborted" : "", base >= held.high ? "beyond" : "", touched.has(`${key} batch ${at}`) ? "new" : ""].join(" ");
    const said = `offsets ${base} to ${last}, ${kind}, producer ${id} epoch ${epoch}, sequence ${sequence}${open ? ", open" : ""}${gone ? ", aborted" : ""}`;
    cells.push(make("li", { class: classes, style: `--hue:${hue(id)}`, title: said },
      make("span", { class: "at" }, base === last ? `${base}` : `${base}–${last}`),
      make("span", { class: "v" }, label || kind),
      make("span", { class: "at" }, id < 0 ? "–" : `${id}/${epoch}`),
      make("span", { class: "vh" }, said)));
    for (let offset = base + 1; offset <= last; offset += 1) bound(offset);
    drawn = last;
  }
  bound(drawn + 1);
  const title = make("h3", {}, data.partitions[held.partition][0] + " ", make("span", {}, `at broker ${broker(held.actor)}, from ${held.start}`));
  return make("div", { class: "log" }, title, make("ol", { class: "strip" }, ...cells));
}

function logs() {
  const led = leaders().filter((held) => held.log.length);
  const fresh = (held) => held.touched === stepOf[now] || [...touched].some((one) => one.startsWith(`${held.actor} ${held.partition} batch`));
  const own = led.filter((held) => !data.partitions[held.partition][1]);
  const recent = [...own].sort((a, b) => b.touched - a.touched).slice(0, 4);
  const chosen = led.filter((held) => (own.length <= 4 ? own : recent).includes(held) || fresh(held));
  return chosen.length ? chosen.map(strip) : [make("p", { class: "none" }, "No log holds anything.")];
}

function transactions() {
  const dead = down();
  const all = [...stand.transactions.entries()].filter(([, { actor }]) => !dead.has(actor)).sort(([a], [b]) => (a < b ? -1 : 1));
  if (!all.length) return [make("p", { class: "none" }, "No coordinator knows any.")];
  const body = all.map(([key, { actor, id, held }]) => {
    const [state, pending, producer, epoch, list] = held;
    const changed = touched.has(`transaction ${key}`);
    return [[id], [broker(actor)], [pending ? `${state} → ${pending}` : state, changed], [`${producer}/${epoch}`, changed], [list.join(" ") || "–", changed]];
  });
  return [table([["transactional id"], ["at"], ["state", "wrap"], ["producer"], ["partitions", "wrap"]], body)];
}

function producers() {
  const body = [];
  for (const held of leaders()) for (const [id, epoch, last, open] of held.producers) {
    const changed = touched.has(`${held.actor} ${held.partition} producers`);
    body.push([[data.partitions[held.partition][0]], [`${id}/${epoch}`, changed], [last, changed], [open < 0 ? "–" : open, changed]]);
  }
  return body.length ? [table([["partition"], ["producer"], ["last sequence", 1], ["open since", 1]], body)] : [make("p", { class: "none" }, "No leader knows any.")];
}

function offsets() {
  const body = [], dead = down();
  for (const [actor, list] of stand.offsets) if (!dead.has(actor)) for (const [group, partition, offset, producer] of list) {
    body.push([[group], [broker(actor)], [partition], [offset, touched.has(`offsets ${actor}`)], [producer < 0 ? "–" : producer]]);
  }
  return body.length ? [table([["group"], ["at"], ["partition"], ["offset", 1], ["pending of"]], body)] : [];
}

function clients() {
  const body = [...stand.clients.entries()].sort((a, b) => a[0] - b[0]);
  return body.length ? [table([["client"], ["stands", "wrap"]], body.map(([actor, text]) => [[name(actor)], [text || "–", touched.has(`client ${actor}`)]]))] : [];
}

function links() {
  const buttons = touching[now].map((at) => {
    const [row, actor, to, toActor, kind] = data.arrows[at];
    const other = row === now ? to : row, whom = row === now ? toActor : actor;
    const word = kind === 2 ? "lost on the way to" : row === now ? (kind === 1 ? "answer reaches" : "reaches") : kind === 1 ? "answered by" : "sent by";
    if (other < 0) return make("span", { class: "none" }, `${word} ${name(whom)}`);
    const button = make("button", { type: "button" }, `${word} ${name(whom)}, step ${rows[other][STEP] || "–"}`);
    button.addEventListener("click", () => go(other, true));
    return button;
  });
  return buttons.length ? [make("div", { class: "links" }, ...buttons)] : [];
}

function describe() {
  const row = rows[now];
  const seconds = `${Math.floor(row[TIME] / 1e6)}.${String(row[TIME] % 1e6).padStart(6, "0")}`;
  const where = `${row[STEP] ? `Step ${row[STEP]}` : "The world"} · ${seconds} s · ${name(row[ACTOR])}`;
  const told = items[now].querySelector(".e").cloneNode(true);
  for (const extra of told.querySelectorAll("i, .n")) extra.remove();
  const text = told.textContent;
  const parts = [make("p", { class: "where" }, where), make("p", { class: "what" }, text)];
  if (row[CHANGES].length) parts.push(make("ul", { "aria-label": "What changed" }, ...row[CHANGES].map((change) => make("li", {}, change))));
  parts.push(...links());
  if (row[RULES].length) parts.push(make("p", { class: "none" }, `Rules: ${row[RULES].join(", ")}`));
  return [parts, `${where}: ${text}`];
}

function show(speak) {
  advance(stepOf[now]);
  const [parts, said] = describe();
  const group = (title, content) => (content.length ? [make("h2", {}, title), ...content] : []);
  panel.replaceChildren(...parts,
    ...group("Partitions", partitions()), ...group("Logs of leaders", logs()), ...group("Transactions", transactions()),
    ...group("Producers, as leaders know them", producers()), ...group("Offsets of groups", offsets()), ...group("Clients", clients()));
  if (speak) $("live").textContent = said;
}

// Going from line to line.
function go(at, focus) {
  if (at === undefined || at < 0 || at >= rows.length) return;
  const before = items[now];
  before.classList.remove("now");
  before.removeAttribute("aria-current");
  before.tabIndex = -1;
  now = at;
  if (items[at].hidden) layout();
  const item = items[at];
  item.classList.add("now");
  item.setAttribute("aria-current", "step");
  item.tabIndex = 0;
  const top = place[at] * ROW, head = $("lanes").offsetHeight;
  const visible = flow.clientHeight - head;
  if (top < flow.scrollTop + 2 * ROW || top > flow.scrollTop + visible - 4 * ROW) flow.scrollTop = Math.max(top - visible * 0.45, 0);
  if (focus) item.focus({ preventScroll: true });
  $("slider").value = place[at];
  $("slider").setAttribute("aria-valuetext", `step ${stepOf[at]}`);
  show(!focus);
  paint();
}

const beginsStep = (at) => rows[at][STEP] > 0 && (at === 0 || rows[at - 1][STEP] !== rows[at][STEP]);
function find(from, way, is) {
  for (let at = from + way; at >= 0 && at < rows.length; at += way) if (!items[at].hidden && is(at)) return at;
  return undefined;
}
const line = (way, focus) => go(find(now, way, () => true), focus);
const step = (way, focus) => go(find(now, way, (at) => (way < 0 && stepOf[at] === stepOf[now] ? false : rows[at][STEP] > 0 && stepOf[at] !== stepOf[now] && (way > 0 || isFirst(at)))), focus);
function isFirst(at) {
  const before = find(at, -1, () => true);
  return before === undefined || rows[before][STEP] !== rows[at][STEP];
}
const strike = (way, focus) => go(find(now, way, (at) => rows[at][CLASS] === "fault"), focus);
function across(focus) {
  const other = touching[now].map((at) => data.arrows[at]).map((one) => (one[0] === now ? one[2] : one[0])).find((at) => at >= 0);
  go(other, focus);
}

// The last line of a step that is broken says what an application saw.
function lineOf(wantedStep) {
  let found;
  rows.forEach((row, at) => { if (row[STEP] === wantedStep && (found === undefined || row[CLASS] === "sees")) found = at; });
  if (found !== undefined) return found;
  const behind = stepOf.findIndex((one) => one >= wantedStep);
  return behind < 0 ? rows.length - 1 : behind;
}
let turn = -1;
function anomaly(focus) {
  const steps = [...new Set(data.broken)].slice(0, 8);
  if (!steps.length) return;
  turn = rows[now][STEP] === steps[turn] ? (turn + 1) % steps.length : 0;
  go(lineOf(steps[turn]), focus);
}

// Search.
let hits = [];
function search() {
  const text = $("find").value.trim().toLowerCase();
  hits = [];
  items.forEach((item, at) => {
    const is = text !== "" && !item.hidden && item.textContent.toLowerCase().includes(text);
    item.classList.toggle("hit", is);
    if (is) hits.push(at);
  });
  $("found").textContent = text === "" ? "" : hits.length ? `${hits.length} found` : "none found";
}
function nextHit(way) {
  if (!hits.length) return;
  const ahead = way > 0 ? hits.find((at) => at > now) : hits.filter((at) => at < now).pop();
  const at = ahead === undefined ? (way > 0 ? hits[0] : hits[hits.length - 1]) : ahead;
  go(at, false);
  $("found").textContent = `${hits.indexOf(at) + 1} of ${hits.length}`;
}

function choose(change) {
  change();
  layout();
  go(now, false);
}

function toggleHelp() {
  const keys = $("keys");
  keys.hidden = !keys.hidden;
  $("help").setAttribute("aria-expanded", String(!keys.hidden));
}

function togglePanel() {
  panel.hidden = !panel.hidden;
  $("panel").setAttribute("aria-pressed", String(!panel.hidden));
  paint();
}

const onKey = {
  ArrowDown: () => line(1, true), j: () => line(1, true),
  ArrowUp: () => line(-1, true), k: () => line(-1, true),
  ArrowRight: () => step(1, true), l: () => step(1, true),
  ArrowLeft: () => step(-1, true), h: () => step(-1, true),
  Home: () => go(shown[0], true), End: () => go(shown[shown.length - 1], true),
  PageDown: () => go(shown[Math.min(place[now] + 20, shown.length - 1)], true),
  PageUp: () => go(shown[Math.max(place[now] - 20, 0)], true),
  a: () => anomaly(true), f: () => strike(1, true), F: () => strike(-1, true), m: () => across(true),
  n: () => nextHit(1), N: () => nextHit(-1),
  "/": () => $("find").focus(), "?": toggleHelp,
  s: togglePanel, c: () => $("concern").click(), r: () => $("routine").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target;
  if (field.id === "find") {
    if (event.key === "Enter") { nextHit(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === "Escape") { field.value = ""; search(); items[now].focus({ preventScroll: true }); }
    return;
  }
  if (field.tagName === "SELECT" || (field.id === "slider" && event.key.startsWith("Arrow"))) return;
  const act = onKey[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

$("first").addEventListener("click", () => go(shown[0], false));
$("last").addEventListener("click", () => go(shown[shown.length - 1], false));
$("back").addEventListener("click", () => step(-1, false));
$("forward").addEventListener("click", () => step(1, false));
$("anomaly").addEventListener("click", () => anomaly(false));
$("strike").addEventListener("click", () => strike(1, false));
$("help").addEventListener("click", toggleHelp);
$("panel").addEventListener("click", togglePanel);
$("slider").addEventListener("input", (event) => go(shown[Number(event.target.value)], false));
$("find").addEventListener("input", search);
$("actor").addEventListener("change", (event) => choose(() => { wanted.actor = event.target.value; press(); }));
$("concern").addEventListener("change", (event) => choose(() => { wanted.concern = event.target.checked; }));
$("routine").addEventListener("change", (event) => choose(() => { wanted.routine = event.target.checked; }));
for (const link of document.querySelectorAll("#broken a")) {
  link.addEventListener("click", (event) => { event.preventDefault(); go(lineOf(Number(link.dataset.step)), true); });
}
$("rows").addEventListener("click", (event) => {
  const at = items.indexOf(event.target.closest("li"));
  if (at >= 0) go(at, true);
});

function press() {
  for (const button of $("lanes").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.actor === wanted.actor));
}
data.actors.forEach((actor, at) => {
  $("actor").append(make("option", { value: String(at) }, actor));
  const button = make("button", { type: "button", tabindex: "-1", title: actor, "data-actor": String(at), style: `left:${x(at)}px` }, actor);
  button.addEventListener("click", () => choose(() => {
    wanted.actor = wanted.actor === String(at) ? "" : String(at);
    $("actor").value = wanted.actor;
    press();
  }));
  $("lanes").append(button);
});

if (!rows.some((row) => row[CLASS] === "fault")) $("strike").disabled = true;
if (!data.broken.length) { $("anomaly").disabled = true; $("concern").disabled = true; }
if (!rows.some((row) => row[FLAGS] & ROUTINE)) $("routine").disabled = true;
if (rows.length) {
  now = data.at ? lineOf(data.at) : data.broken.length ? lineOf(data.broken[0]) : 0;
  layout();
  go(now, false);
  $("live").textContent = "";
}
