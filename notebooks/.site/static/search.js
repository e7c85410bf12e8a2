// The search of Sphinx leaves numbers out. A reader of this site looks for 401, 429 and 599.
(() => {
  const patch = () => {
    if (typeof Search === "undefined") return;
    const parse = Search._parseQuery;
    Search._parseQuery = (query) => {
      const parsed = parse(query);
      query.split(/\s+/).filter((word) => /^\d+$/.test(word)).forEach((number) => {
        parsed[1].add(number);
        parsed[3].add(number);
      });
      return parsed;
    };
  };
  document.addEventListener("DOMContentLoaded", patch);
})();
