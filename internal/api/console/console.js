// What a page of the console does on top of what it does without a script: it hears what happens
// while it is open, writes times in the reader's zone, says when there is no connection, and moves
// by keys. It decides nothing: no key and no event answers a question; one key takes an answer back.
"use strict";

const $ = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const page = document.body.dataset;

// say is a sentence of the page, which has them all.
const say = (name, values = {}) =>
  Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), $(`word-${name}`).textContent);

// plain is text of others that the server didn't draw: what doesn't show, or reorders, is spelled.
const plain = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\uffff\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/gu, (c) => (c === "\n" ? c : `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`));

// Times.
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
for (const time of all("time[datetime]")) time.textContent = zoned.format(new Date(time.dateTime));

// Answers: a form is sent once, and not while there is no connection.
let connected = true, sending = null;
const buttons = () => all("form[data-answer] button, main.question form button:not([hidden])");

function drawButtons() {
  for (const button of buttons()) button.disabled = !connected || sending !== null || page.answered !== undefined;
  $("offline").hidden = connected;
  if ($("unsure")) $("unsure").hidden = !(sending && sending.lost);
  if ($("resend")) $("resend").disabled = !connected;
}

function connection(now) {
  clearTimeout(doubt);
  doubt = undefined;
  connected = now;
  drawButtons();
}

// A stream ends now and then, and is opened again at once: only one that stays away is no connection.
const patience = 3000;
let doubt;

function doubted() {
  doubt ??= setTimeout(() => connection(false), patience);
}

addEventListener("offline", () => connection(false));
addEventListener("online", () => connection(true));
document.addEventListener("submit", (event) => {
  const { target: form, submitter: button } = event;
  if (event.defaultPrevented || form.method !== "post") return;
  if (!connected || sending !== null) return event.preventDefault();
  const answer = { button, text: button && button.textContent };
  const begin = () => {
    sending = answer;
    if (button) button.textContent = say("sending");
    drawButtons();
  };
  // later: a button that is disabled now would not be sent
  if ($("unsure") === null || !button || !answers.includes(button.value)) return setTimeout(begin);
  event.preventDefault();
  answer.to = new URL(form.getAttribute("action") ?? "", location.href);
  answer.body = new URLSearchParams();
  // line breaks as a form has them: what is sent again must be the same
  for (const [name, text] of new FormData(form, button)) answer.body.append(name, text.replace(/\r\n?|\n/g, "\r\n"));
  begin();
  deliver(answer);
});

// An answer is sent from here, so that the page stays when no receipt comes: it isn't known then
// whether it arrived. The person sends the same answer again, which counts once, or looks.
const answers = ["resume", "cancel", "edit", "withdraw"];
const receipt = 30000;

async function deliver(answer) {
  const headers = { Accept: "text/html", "Content-Type": "application/x-www-form-urlencoded" };
  const got = await fetch(answer.to, { method: "POST", body: answer.body.toString(), headers, signal: AbortSignal.timeout(receipt) }).catch(() => null);
  if (got && got.redirected) return location.assign(got.url);
  answer.button.textContent = answer.text;
  answer.lost = got === null || got.status >= 500;
  drawButtons();
  if (!answer.lost) return drawRefusal(answer);
  $("lost").textContent = say(answer.button.value === "withdraw" ? "lost_undo" : "lost");
  focus($("unsure"));
}

// The page that says why an answer was refused is the answer to the same form, sent by the browser.
function drawRefusal(answer) {
  const form = Object.assign(document.createElement("form"), { method: "post", action: answer.to, hidden: true });
  for (const [name, value] of answer.body) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  HTMLFormElement.prototype.submit.call(form);
}

if ($("resend")) $("resend").addEventListener("click", () => {
  sending.lost = false;
  drawButtons();
  deliver(sending);
});

// a page that the browser kept and shows again has sent nothing
addEventListener("pageshow", (event) => {
  if (!event.persisted || sending === null) return;
  if (sending.button) sending.button.textContent = sending.text;
  sending = null;
  drawButtons();
});

// News: rows never jump under a finger. What is new is counted on a button that draws the page again.
const news = $("news");
const fresh = new Set();
const title = document.title;

function drawNews(text) {
  news.textContent = text;
  news.hidden = text === "";
  document.title = fresh.size > 0 ? `(${fresh.size}) ${title}` : title;
}

function countNews() {
  drawNews(fresh.size === 0 ? "" : say(fresh.size === 1 ? "one" : "many", { n: fresh.size }));
}

const rowOf = (name, value) => all(`li[data-${name}]`).filter((row) => row.dataset[name] === value);

function gone(row, text) {
  if (row.classList.contains("gone")) return;
  row.classList.add("gone");
  for (const link of row.querySelectorAll("a")) {
    link.removeAttribute("href");
    link.setAttribute("aria-disabled", "true");
  }
  const note = document.createElement("p");
  note.className = "gone-note";
  note.textContent = text;
  row.append(note);
}

const happened = {
  "call.suspended"(event) {
    const question = event.data.suspension.id;
    const asksPeople = event.data.kind !== "client" && event.data.kind !== "child";
    if (page.page === "inbox" && asksPeople && rowOf("question", question).length === 0) fresh.add(question);
    if (page.page === "inbox") countNews();
    if (page.run === event.run_id) drawNews(say("more"));
  },
  "decision.recorded"(event) {
    const question = event.data.suspension;
    if (!question || event.data.applied === false) return;
    if (fresh.delete(question)) countNews();
    for (const row of rowOf("question", question)) gone(row, event.data.by ? say("answered", { by: plain(event.data.by.replace(/^[a-z]+:/, "")) }) : say("done"));
    if (page.question === question) answered();
    if (page.run === event.run_id) more();
  },
  "run.status"(event) {
    for (const row of rowOf("of", event.run_id)) gone(row, say("ended"));
    if (page.of === event.run_id && page.question) answered();
    if (page.run === event.run_id) more();
  },
};

// more: the run of this page has gone on. A page that only says what became of a question is drawn
// again at once.
function more() {
  if (page.page === "outcome" && sending === null) return location.reload();
  drawNews(say("more"));
}

// answered: the question on this page was answered elsewhere, or here and shown again.
function answered() {
  if ((sending !== null && !sending.lost) || page.answered !== undefined) return;
  page.answered = "";
  drawButtons();
  drawNews(say("late"));
}

// An answer that is held: the seconds are counted down from what the server said, whatever the clock
// here says, and then the page shows what has become of it.
const held = $("held");
if (held) {
  const end = performance.now() + Number(held.dataset.left);
  const settled = 1500; // for what starts then to be stored
  const count = setInterval(() => {
    const left = end - performance.now();
    if (left > 0) return ($("left").textContent = Math.ceil(left / 1000));
    if (sending !== null) return;
    clearInterval(count);
    if ($("undo")) $("undo").disabled = true;
    held.textContent = say("starts");
    setTimeout(() => sending === null && location.reload(), settled);
  }, 250);
}

// Only questions that ask alike are answered together: one that is chosen keeps out the others.
const choices = all("input[data-alike]");
function choose() {
  const chosen = choices.find((box) => box.checked);
  for (const box of choices) box.disabled = chosen !== undefined && box.dataset.alike !== chosen.dataset.alike;
}
for (const box of choices) box.addEventListener("change", choose);
choose();

function listen() {
  const stream = new EventSource(page.live);
  stream.onopen = () => connection(true);
  stream.onerror = () => {
    doubted();
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  };
  for (const [type, act] of Object.entries(happened)) {
    stream.addEventListener(type, (message) => act(JSON.parse(message.data)));
  }
}
if (page.live) listen();

// The enter key sends a message, as in other chats; with shift, it begins a line.
const composer = $("text");
if (composer) composer.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (composer.value.trim() !== "") composer.form.requestSubmit();
});

// Speech: what the model is saying now, until the page can be drawn with all of it.
function hearSpeech() {
  const speech = $("speech");
  let said = "", drawn = 0;
  const stream = new EventSource(page.speaks);
  const over = () => {
    stream.close();
    if (composer && composer.value !== "") return drawNews(say("more"));
    location.reload();
  };
  stream.addEventListener("text.delta", (message) => {
    said += JSON.parse(message.data).data.text;
    drawn ||= requestAnimationFrame(() => {
      drawn = 0;
      speech.hidden = false;
      speech.textContent = plain(said);
    });
  });
  for (const type of ["text.ended", "call.ready"]) stream.addEventListener(type, () => (said = ""));
  stream.addEventListener("turn.ended", over);
  // The address of a stream opens it once: a browser that asks for it again gives up.
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(hearSpeech, 5000);
  };
}
if (page.speaks) hearSpeech();
if (news) news.addEventListener("click", () => location.reload());

// Keys. None answers by itself: they move, open and focus, and one takes an answer back.
const off = "console-keys-off";
let waitsForSecond = false;

const focus = (element) => element && (element.focus(), element.scrollIntoView({ block: "nearest" }));

function move(by) {
  const rows = all("a.what[href]");
  const at = rows.indexOf(document.activeElement);
  focus(rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))]);
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  o: () => document.activeElement.matches("a.what[href]") && document.activeElement.click(),
  u: () => history.back(),
  a: () => focus($("yes")),
  d: () => focus($("reason")),
  e: () => focus(document.querySelector("button[value=change]")),
  x: () => document.activeElement.closest("li")?.querySelector("input[data-alike]:not(:disabled)")?.click(),
  z: () => $("undo") && $("undo").click(),
  "/": () => focus(document.querySelector("[role=search] input")),
  g: () => (waitsForSecond = true),
  "?": () => $("help").showModal(),
};
const places = { i: "inbox", r: "runs", c: "chat", a: "agents", o: "operate" };

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable], dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem(off) !== null) return;
  if (waitsForSecond) {
    waitsForSecond = false;
    const link = places[event.key] && document.querySelector(`nav a[data-place=${places[event.key]}]`);
    if (link) link.click();
    return;
  }
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

const switched = $("keys");
if (switched) {
  switched.checked = localStorage.getItem(off) === null;
  switched.addEventListener("change", () => (switched.checked ? localStorage.removeItem(off) : localStorage.setItem(off, "")));
}
