// look reads a page of a question as a person does: what stands where, by rectangles. It returns what it saw and what is wrong with it.
function look() {
  const wrong = [];
  const rtl = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
  const right = (text) => rtl.test(text.replace(/\p{Nd}/gu, ""));
  const mark = /\p{M}/u;
  const texts = (root) => {
    const all = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) all.push(walk.currentNode);
    return all;
  };
  const chip = (label) => {
    let m;
    if (label === "line break") return "\n";
    if (label === "no name") return "";
    if ((m = /^(?:(\d+) )?blanks?$/.exec(label))) return " ".repeat(m[1] || 1);
    if ((m = /^(?:(\d+) )?tabs?$/.exec(label))) return "\t".repeat(m[1] || 1);
    if ((m = /^(?:(\d+) times )?U\+([0-9A-F]+)$/.exec(label))) return String.fromCodePoint(parseInt(m[2], 16)).repeat(m[1] || 1);
    wrong.push("a chip says " + label);
    return "";
  };
  // said is what an element says to a person who knows the marks.
  const said = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.classList.contains("chip")) return chip(node.textContent);
    if (node.classList.contains("odd")) {
      const letter = node.querySelector("bdi").textContent, label = node.querySelector("small").textContent;
      if (chip(label) !== letter) wrong.push("a letter is " + letter + " and labelled " + label);
      return letter;
    }
    return [...node.childNodes].map(said).join("");
  };
  const inside = (r, box) => r.left >= box.left - 0.5 && r.right <= box.right + 0.5 && r.top >= box.top - 1 && r.bottom <= box.bottom + 1;
  const reads = (a, b) => b.top >= a.bottom - 1 || (b.left >= a.left - 0.5 && b.bottom > a.top);
  const range = document.createRange();

  // inOrder demands that the characters of a text stand in the order they are stored in. A text with letters from right to left alone may
  // stand from right to left; whether it is alone is for its pieces.
  const inOrder = (node) => {
    if (right(node.data)) return;
    let before = null, at = 0;
    for (const char of node.data) {
      range.setStart(node, at);
      range.setEnd(node, (at += char.length));
      if (mark.test(char) || char === " " || char === "\n") continue;
      const r = range.getClientRects()[0];
      if (!r) continue;
      if (before && !(r.left >= before.left - 0.5 || r.top >= before.bottom - 1)) {
        wrong.push("not in its order: " + char + " in " + node.data.slice(0, 60));
        return;
      }
      before = r;
    }
  };
  const rectsOf = (el) => texts(el).flatMap((n) => { range.selectNodeContents(n); return [...range.getClientRects()]; });

  for (const n of texts(document.body)) if (hidden.test(n.data)) wrong.push("does not show: " + JSON.stringify(n.data.slice(0, 60)));
  for (const zone of document.querySelectorAll(".zone")) {
    const box = zone.getBoundingClientRect();
    for (const r of rectsOf(zone)) if (r.width && !inside(r, box)) { wrong.push("outside of the frame: " + zone.textContent.slice(0, 60)); break; }
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen: " + document.documentElement.scrollWidth);

  const rows = [];
  for (const row of document.querySelectorAll(".row")) {
    const dt = row.querySelector("dt"), value = row.querySelector("dd.value"), box = row.getBoundingClientRect();
    if (!box.width) continue; // folded
    const label = dt.getBoundingClientRect(), block = value.getBoundingClientRect();
    if (!(label.right <= block.left + 0.5 && label.top < block.bottom) && !(label.bottom <= block.top + 0.5)) wrong.push("the name is not before its value: " + row.textContent.slice(0, 60));
    for (const r of rectsOf(dt)) if (r.width && !inside(r, label)) wrong.push("a name leaves its place: " + dt.textContent.slice(0, 60));
    for (const r of rectsOf(value)) if (r.width && !inside(r, block)) { wrong.push("a value leaves its place: " + value.textContent.slice(0, 60)); break; }
    const steps = [...dt.querySelectorAll(".name, .place")];
    const tops = (el) => [el.getClientRects()[0], [...el.getClientRects()].pop()];
    for (let i = 1; i < steps.length; i++) if (!reads(tops(steps[i - 1])[0], tops(steps[i])[0])) wrong.push("the names of a path change places: " + dt.textContent.slice(0, 60));
    for (const pieces of row.querySelectorAll(".order")) {
      const items = [...pieces.children].map((li) => li.getBoundingClientRect());
      for (let i = 1; i < items.length; i++) if (!(items[i].top >= items[i - 1].bottom - 1 || items[i].left >= items[i - 1].right - 1)) wrong.push("the pieces change places: " + pieces.textContent.slice(0, 60));
      for (const li of pieces.children) {
        const piece = texts(li.querySelector("bdi")).filter((n) => !n.parentElement.closest(".chip, small")).map((n) => n.data).join("");
        if (right(piece) && /[\p{Nd}A-Za-z]/u.test(piece)) wrong.push("a piece reads in two directions: " + piece);
      }
    }
    const own = value.classList.contains("own");
    const mixed = row.querySelector(".order");
    for (const n of texts(value)) if (!mixed) inOrder(n);
    rows.push({
      path: steps.map((s) => (s.classList.contains("place") ? "#" + s.textContent : said(s)).toWellFormed()),
      label: dt.textContent.toWellFormed(), value: said(value).toWellFormed(), own, foreign: !row.closest(".values"),
      ordered: [...row.querySelectorAll(".order")].map((o) => [...o.children].map((li) => said(li.querySelector("bdi"))).join("").toWellFormed()),
      warns: [...row.querySelectorAll(".warn")].map((w) => w.textContent),
    });
  }
  // The frame is everything that is not text of others.
  const copy = document.body.cloneNode(true);
  for (const el of copy.querySelectorAll(".zone, .time, h1 bdi, .asks bdi")) el.replaceChildren();
  for (const el of copy.querySelectorAll("input[type=hidden]")) el.removeAttribute("value"); // the fingerprint
  const frame = ["h1", "h2", "form", "button", "textarea", "input", "script", "img", "svg", "iframe", "a", "style", "details", "main", "header", "section"].map((t) => t + " " + document.querySelectorAll(t).length).join(", ") + "\n" + copy.innerHTML;
  return JSON.stringify({ wrong, rows, frame });
}
look();
