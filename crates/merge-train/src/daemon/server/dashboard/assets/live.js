// Keeps a page up to date. Everything is readable without it.
"use strict";

(() => {
  const main = document.getElementById("main");
  const sign = document.getElementById("live");
  const address = document.body.dataset.live;

  const say = (text, isLive) => {
    if (!sign || sign.textContent === text) return;
    sign.textContent = text;
    sign.classList.toggle("on", isLive);
  };

  // Makes `from` like `to`, and leaves alone what is the same: what somebody typed, opened, selected or scrolled stays.
  const morph = (from, to) => {
    if (from.isEqualNode(to) || from.dataset?.keep !== undefined) return;
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) {
      from.replaceWith(to);
      return;
    }
    if (from.nodeType !== Node.ELEMENT_NODE) {
      if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      return;
    }
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(from.nodeName === "DETAILS" && name === "open")) from.removeAttribute(name);
    }
    for (const { name, value } of [...to.attributes]) {
      if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    const kept = new Map([...from.children].filter((child) => child.id).map((child) => [child.id, child]));
    const wanted = [...to.childNodes];
    let at = from.firstChild;
    for (const next of wanted) {
      const same = next.id ? kept.get(next.id) : undefined;
      if (same) {
        if (same !== at) from.insertBefore(same, at);
        else at = at.nextSibling;
        morph(same, next);
      } else if (at && !(at.id && wanted.some((node) => node.id === at.id)) && at.nodeName === next.nodeName && !next.id) {
        const old = at;
        at = at.nextSibling;
        morph(old, next);
      } else {
        from.insertBefore(next, at);
      }
    }
    while (at) {
      const old = at;
      at = at.nextSibling;
      old.remove();
    }
  };

  const show = (html) => {
    const next = document.createElement("main");
    next.id = "main";
    next.tabIndex = -1;
    next.innerHTML = html;
    morph(main, next);
    follow();
  };

  // A log grows at its end, and is read on from where it is.
  const followed = new Set();
  const follow = () => {
    for (const log of document.querySelectorAll("pre[data-log]")) {
      if (followed.has(log) || !looking) continue;
      followed.add(log);
      read(log, looking.signal).catch(() => undefined);
    }
  };
  const read = async (log, signal) => {
    const token = document.querySelector('meta[name="csrf-token"]').content;
    const address = `${log.dataset.log}?from=${log.dataset.from}&follow=true`;
    const answer = await fetch(address, { headers: { "x-csrf-token": token }, signal });
    if (!answer.ok) return;
    const [bytes, decoder] = [answer.body.getReader(), new TextDecoder()];
    for (;;) {
      const { value, done } = await bytes.read();
      if (done || !log.isConnected) return;
      log.dataset.from = Number(log.dataset.from) + value.length;
      const text = decoder.decode(value, { stream: true });
      const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      // Text and nothing else, whatever it looks like; what a terminal would obey is left out.
      log.append(text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, "\ufffd"));
      if (isAtEnd) log.scrollTop = log.scrollHeight;
    }
  };

  // A form is sent once.
  document.addEventListener("submit", (event) => {
    for (const button of event.target.querySelectorAll("button")) setTimeout(() => (button.disabled = true));
  });

  // What is chosen to look at is looked at.
  document.addEventListener("change", (event) => {
    if (event.target.matches("form.filter select")) event.target.form.requestSubmit();
  });

  // Only what somebody looks at is kept up to date: a browser has few connections for all of its pages, and one that was
  // left or is hidden needs none.
  let looking;
  const look = () => {
    if (looking || document.hidden) return;
    looking = new AbortController();
    follow();
    const source = new EventSource(address);
    looking.signal.addEventListener("abort", () => source.close());
    source.addEventListener("page", (event) => {
      say("live", true);
      show(JSON.parse(event.data));
    });
    source.addEventListener("error", () => say("not live", false));
  };
  const leave = () => {
    looking?.abort();
    looking = undefined;
    followed.clear();
    say("not live", false);
  };
  if (!address || !main) return;
  // What does not end must not keep the page from being loaded.
  addEventListener("load", () => setTimeout(look));
  addEventListener("pageshow", (event) => event.persisted && look());
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : look()));
})();
