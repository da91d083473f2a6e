// foreign looks for what text of others must not do to a page of the console, and counts what only the page's own frame may have.
function foreign() {
  const wrong = [];
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const brief = (text) => JSON.stringify(text.slice(0, 60));
  const rtl = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
  const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (hidden.test(node.data)) wrong.push("does not show: " + brief(node.data));
    if (rtl.test(node.data) && !node.parentElement.closest("bdi, [dir]")) wrong.push("reorders what is around it: " + brief(node.parentElement.textContent));
  }
  for (const el of document.querySelectorAll("[title], [alt], [aria-label], [placeholder]"))
    for (const name of ["title", "alt", "aria-label", "placeholder"]) if (hidden.test(el.getAttribute(name) ?? "")) wrong.push("does not show: " + name);
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll("body *")].filter((el) => el.getBoundingClientRect().right > innerWidth + 0.5).pop();
    wrong.push("wider than the screen: " + document.documentElement.scrollWidth + ", by " + wide?.outerHTML.slice(0, 200));
  }
  for (const el of document.querySelectorAll(":is(bdi, .zone, dd, option) :is(a, img, svg, iframe, form, input, script, style, object)")) wrong.push("is no text: " + brief(el.outerHTML));
  for (const link of document.querySelectorAll("a[href], form[action]")) if (new URL(link.href ?? link.action, location.href).origin !== location.origin) wrong.push("leads elsewhere: " + brief(link.outerHTML));
  if (document.querySelector("dialog[open]")) wrong.push("a dialog is open");
  const parts = ["h1", "h2", "form", "button", "textarea", "input", "select", "script", "img", "svg", "iframe", "a", "link", "style", "main", "nav", "header", "section", "li:not(.order li)"]; // pieces are the page's own
  return JSON.stringify({ wrong, frame: parts.map((name) => name + " " + document.querySelectorAll(name).length).join(", "), more: document.querySelector("a.more, a[href*='cursor='], a[href*='before=']")?.getAttribute("href") ?? "" });
}
foreign();
