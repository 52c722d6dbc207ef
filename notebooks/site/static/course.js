/* The side bar begins at the entry of this page: the theme would leave it where it was on the last page. */
window.addEventListener("load", () => {
  const bar = document.querySelector(".bd-sidebar-primary");
  const entry = bar && [...bar.querySelectorAll(".current > a.current, .active > a")].pop();
  if (entry) bar.scrollTop += entry.getBoundingClientRect().top - bar.getBoundingClientRect().top - bar.clientHeight / 3;
});

/* The contents at the right mark the section that is read; the theme misses sections that are scrolled past quickly. */
let waiting;
window.addEventListener("scroll", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const links = [...document.querySelectorAll(".bd-sidebar-secondary a.nav-link[href^='#']")];
    const above = (link) => document.getElementById(link.hash.slice(1))?.getBoundingClientRect().top < 150;
    const read = links.filter(above).pop() || links[0];
    for (const link of links) {
      const here = link.hash === read.hash;
      link.classList.toggle("active", here);
      link.parentElement.classList.toggle("active", here);
      link.setAttribute("aria-current", here);
    }
  }, 100);
});

/* The search: whole words, with - and _ between their parts or without; the glossary first; each hit of a text leads to
   its place. */
const FIRST = ["glossary", "concepts"];
const FURNITURE = ".headerlink, script, style, .cell_input, .cell_output";

/* Patterns of these stems, the best first: as a phrase, then any of them. The stem of policy is polici. */
const patterns = (stems) => {
  const words = [...stems].map((stem) => `${[...stem].join("[-_ ]?").replace(/i$/, "[iy]")}[\\p{L}\\p{N}]*`);
  return [words.join("[-\\s]+"), `(?:${words.join("|")})`].map((each) => `(?<!\\p{L})${each}`);
};

const excerpt = (html, stems, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const article = (anchor && page.getElementById(anchor.slice(1))) || page.querySelector("article");
  if (!article) return null;
  article.querySelectorAll(FURNITURE).forEach((part) => part.remove());
  const blocks = [...article.querySelectorAll("h1, h2, h3, h4, p, li, tr, dt, pre")];
  const tex = /\\(?:text\{([^}]*)\}|[()[\],]|(?=[a-z]))/g; // of a formula its letters
  const said = (block) => block.textContent.replace(tex, "$1").replace(/\s+/g, " ").trim();
  const find = (pattern) => blocks.find((block) => new RegExp(pattern, "iu").test(said(block)));
  const tried = patterns(stems).flatMap((pattern) => [`^[^\\p{L}\\p{N}]*${pattern}`, pattern]);
  const pattern = tried.find(find);
  const found = pattern && find(pattern);
  const block = found && (found.closest("tr") || found);
  const text = said(block || article);
  const word = pattern && text.match(new RegExp(pattern.replace(/^\^.*?\*/, ""), "iu"));
  const start = Math.max((word ? word.index : 0) - 120, 0);
  const next = block && blocks[blocks.indexOf(block) + 1];
  const more = next && text.length < 120 && !block.matches("tr") ? ` ${said(next)}` : "";
  const summary = document.createElement("p");
  summary.className = "context";
  summary.textContent = `${start ? "..." : ""}${(text + more).slice(start, start + 240)} ...`;
  setTimeout(() => {
    const link = summary.parentElement.querySelector("a");
    const place = block && block.closest("section[id], dt[id]");
    if (!word || !place || link.hash) return;
    link.hash = `${place.id}:~:text=${encodeURIComponent(word[0]).replace(/-/g, "%2D")}`;
  });
  return summary;
};

document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return; // on the other pages
  Search.makeSearchSummary = excerpt;
  splitQuery = (query) =>
    (query.match(/[\p{L}\p{N}]+(?:[-_]+[\p{L}\p{N}]+)*/gu) || []).map((word) => word.replace(/[-_]/g, ""));

  Scorer.score = ([page, , , , score, , kind]) => {
    if (kind === "object") return score - 12; // explanations before names of the API
    return FIRST.includes(page) && score >= Scorer.term ? score + 30 - FIRST.indexOf(page) : score;
  };

  const parsed = Search._parseQuery;
  Search._parseQuery = (query) => {
    const found = parsed(query);
    found[4] = new Set(query.toLowerCase().match(/[\p{L}\p{N}_.]+/gu)); // names of the API keep their _
    return found;
  };
});
