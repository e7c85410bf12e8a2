// How the search ranks pages. Sphinx puts this file behind its own search, which orders most results by the alphabet.
var Scorer = {
  // A page whose title has the words of the question comes first, and pages that answer come before those that list.
  score: ([page, title, , , score]) => {
    const words = (text) => text.toLowerCase().split(/[^\w.]+/).filter((word) => word.length > 2);
    const asked = words(new URLSearchParams(window.location.search).get("q") || "");
    const known = words(`${title} ${page.split("/").pop().replace(/-/g, " ")}`);
    const met = asked.filter((word) => known.some((other) => other.startsWith(word.slice(0, 5))));
    const doors = { "how-to": 6, explanation: 3, reference: 0 };
    const door = page === "reference/changelog" ? -30 : page === "index" ? 5 : (doors[page.split("/")[0]] ?? 4);
    return score + door + 10 * met.length;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Sphinx leaves numbers out of a question. A reader of this site looks for 401, 429 and 599.
const parseWithoutNumbers = Search._parseQuery;
Search._parseQuery = (query) => {
  const parsed = parseWithoutNumbers(query);
  query
    .split(/\s+/)
    .filter((word) => /^\d+$/.test(word))
    .forEach((number) => [1, 3].forEach((place) => parsed[place].add(number)));
  return parsed;
};
