// How the search understands a question and ranks pages. Sphinx puts this file behind its own search, which wants every
// word of the question on one page and sorts most results alphabetically.
const HEADING = 3; // a word in a heading counts this many times
const ENOUGH = 0.6; // pages with less than this share of the best page's words are left out

// Words of questions, in addition to those that Sphinx leaves out.
["can", "get", "make", "many", "much", "need", "per", "say", "says", "use", "want", "work", "works"].forEach((word) =>
  stopwords.add(word),
);
stopwords.delete("once"); // a record mode

const wordsOf = (text) =>
  text
    .toLowerCase()
    .split(/[^\w.]+/)
    .filter((word) => word.length > 2 && !stopwords.has(word));

var Scorer = {
  // A page whose title has the words of the question comes first, and pages that answer come before those that list.
  score: ([page, title, , , score]) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const asked = wordsOf(query);
    const known = wordsOf(`${title} ${page.split("/").pop().replace(/-/g, " ")}`);
    const met = asked.filter((word) => known.some((other) => other.startsWith(word.slice(0, 5))));
    const isName = /[._]|[a-z][A-Z]/.test(query); // of Python, not of English
    const doors = { "how-to": 6, explanation: 3, reference: isName ? 9 : -6 };
    const isForMeaning = /^what('s|’s| is| are)/i.test(query);
    const others = { index: 0, "reference/changelog": -30, "reference/words": isForMeaning ? 12 : 0 };
    const door = others[page] ?? doors[page.split("/")[0]] ?? 4;
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

// Contractions (doesn't, what's) are not searched for. Sphinx leaves numbers out; a reader looks for 401 and 599.
const parseWithoutNumbers = Search._parseQuery;
Search._parseQuery = (query) => {
  const plain = query.replace(/\w+n['’]t\b/gi, " ").replace(/['’](s|re|ve|ll|d|m)\b/gi, " ");
  const parsed = parseWithoutNumbers(plain);
  (plain.match(/\b\d+(,\d{3})*\b/g) || [])
    .map((number) => number.replaceAll(",", ""))
    .forEach((number) => [1, 3].forEach((place) => parsed[place].add(number)));
  return parsed;
};

// Return the pages that have a word; if there are none, those with a longer word that contains it.
// A British spelling finds the American one (unauthorised, unauthorized).
const pagesWith = (index, word) => {
  const keys = Object.hasOwn(index, word)
    ? [word]
    : Object.keys(index).filter((key) => word.length > 3 && key.includes(word));
  if (!keys.length && word.endsWith("is")) return pagesWith(index, word.slice(0, -2));
  return new Set(keys.flatMap((key) => index[key]));
};

// Return the heading of a page that has the most words of the question, unless its title has as many.
const bestHeading = (page, rarity) => {
  const stemmer = new Stemmer();
  const value = (heading) => {
    const stems = new Set(splitQuery(heading.toLowerCase()).map((word) => stemmer.stemWord(word)));
    return [...rarity].reduce((sum, [word, weight]) => sum + (stems.has(word) ? weight : 0), 0);
  };
  let best = { value: value(Search._index.titles[page]), heading: null, anchor: "" };
  for (const [heading, places] of Object.entries(Search._index.alltitles))
    for (const [file, anchor] of places)
      if (file === page && anchor !== null && value(heading) > best.value)
        best = { value: value(heading), heading, anchor: `#${anchor}` };
  return best;
};

// A page needs most words of the question, not all; rare words and words in headings count more.
Search.performTermsSearch = (asked) => {
  const { terms, titleterms, titles, docnames, filenames } = Search._index;
  const rarity = new Map();
  const met = new Map();
  const scores = new Map();
  const add = (map, page, value) => map.set(page, (map.get(page) || 0) + value);
  asked.forEach((word) => {
    const [inText, inHeadings] = [pagesWith(terms, word), pagesWith(titleterms, word)];
    const pages = new Set([...inText, ...inHeadings]);
    if (!pages.size) return;
    rarity.set(word, Math.log(1 + titles.length / pages.size));
    pages.forEach((page) => add(met, page, rarity.get(word)));
    pages.forEach((page) => add(scores, page, rarity.get(word) * (inHeadings.has(page) ? HEADING : 1)));
  });
  const total = [...rarity.values()].reduce((sum, value) => sum + value, 0);
  const most = Math.max(0, ...met.values());
  return [...scores]
    .filter(([page]) => met.get(page) >= ENOUGH * most)
    .map(([page, score]) => {
      const { heading, anchor } = bestHeading(page, rarity);
      const title = heading ? `${titles[page]} > ${heading}` : titles[page];
      return [docnames[page], title, anchor, null, (10 * score) / total, filenames[page], SearchResultKind.text];
    });
};

// Below the results, or in their place, a way to the questions of the start page.
const answer = Search.query;
Search.query = (query) => {
  answer(query);
  const hint = document.createElement("p");
  const root = document.documentElement.dataset.content_root;
  hint.innerHTML = `Not here? <a href="${root}index.html#find-an-answer">See the list of questions</a>.`;
  Search.output.after(hint);
};
