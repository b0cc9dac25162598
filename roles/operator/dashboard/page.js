/**
 * Keeps the page going: ages, updates from the stream, the choice of colours. Whatever it puts into
 * the page was rendered and escaped by the server; it never makes markup out of anybody's words.
 */
(() => {
  const root = document.documentElement;
  const THEMES = { auto: "as the system", light: "light", dark: "dark" };
  const stored = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  let theme = stored() in THEMES ? stored() : "auto";
  const paint = () => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  paint(); // before the first paint

  const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const age = (seconds) => {
    const size = Math.abs(seconds);
    const [unit, least] = UNITS.find(([, least]) => size >= least) ?? UNITS[3];
    return `${Math.floor(size / least)} ${unit}${seconds <= -1 ? " ahead" : " ago"}`;
  };
  const tick = (within) => {
    for (const time of within.querySelectorAll("time.ago")) {
      const text = age((Date.now() - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
  };

  const say = (id, text) => {
    const element = document.getElementById(id);
    if (element !== null && element.textContent !== text) element.textContent = text;
  };

  /** Puts a new element where the old one of its id is; the focus stays where it was. */
  const replace = (id, html) => {
    const old = document.getElementById(id);
    if (old === null) return;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const template = document.createElement("template");
    template.innerHTML = html;
    tick(template.content);
    const list = old.tagName === "TBODY";
    if (list) old.replaceChildren(template.content);
    else old.replaceWith(template.content);
    if (focused === null) return;
    const href = focused.getAttribute("href");
    const now = document.getElementById(id);
    const again = [...now?.querySelectorAll("a, [tabindex]") ?? []]
      .find((one) => one.getAttribute("href") === href);
    (again ?? document.getElementById("main")).focus({ preventScroll: true });
  };

  const tell = ({ reset, items, said }) => {
    const feed = document.getElementById("feed");
    if (feed !== null) {
      const template = document.createElement("template");
      template.innerHTML = items.join("");
      if (reset) feed.replaceChildren();
      feed.prepend(template.content);
      while (feed.childElementCount > Number(feed.dataset.most)) feed.lastElementChild.remove();
    }
    if (said !== "") say("said", said);
  };

  let last = "";
  let source = null;
  addEventListener("pagehide", () => source?.close());
  const connect = () => {
    const address = root.dataset.updates + (last === "" ? "" : `&last=${encodeURIComponent(last)}`);
    source = new EventSource(address);
    source.addEventListener("update", (event) => {
      last = event.lastEventId;
      const { parts, events } = JSON.parse(event.data);
      for (const [id, html] of parts) replace(id, html);
      if (events !== null) tell(events);
      document.body.classList.remove("cut");
      say("link", "Live");
      performance.clearMarks("anvil-update"); // a page is open for days
      performance.mark("anvil-update");
    });
    source.addEventListener("error", () => {
      if (!document.body.classList.contains("cut")) {
        document.body.classList.add("cut");
        const at = new Date().toISOString().slice(11, 19);
        say("link", `Not connected since ${at}: nothing below is newer. Trying again.`);
      }
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  };

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const name = () => button.textContent = `Colours: ${THEMES[theme]}`;
    button.hidden = false;
    name();
    button.addEventListener("click", () => {
      const names = Object.keys(THEMES);
      theme = names[(names.indexOf(theme) + 1) % names.length];
      try {
        localStorage.setItem("theme", theme);
      } catch {
        // for this page only, then
      }
      paint();
      name();
    });
    say("link", "Connecting");
    connect();
    setInterval(() => tick(document), 1000);
  });
})();
