// Questions are found as people ask them. Sphinx wants a page that has every word of a search; a
// heading that shares the telling words of it counts here, too, and where no page has all words,
// those that have most.
"use strict";

(() => {
  if (typeof Search === "undefined") return;

  const LEAST_SHARE = 0.3;
  const BEST_SCORE = 30; // twice that of a word in a title
  const FOR_USERS = /^(docs|notebooks)\//;
  const BEHIND = 5; // is what a developer of nagle-scan looks for
  // What people see, and the heading that tells what to do about it.
  const ALIASES = {
    "Why does every request take 40 ms though the CPU is idle?": ["why 40 ms", "40 ms delay"],
    "Why 200 ms on Windows?": ["200 ms Windows"],
    "I set TCP_NODELAY and still see 40 ms. Why?": ["TCP_NODELAY does not help", "no effect"],
    "Rare stalls: ring files": ["permission denied", "tcpdump cannot write"],
  };
  const stemmer = new Stemmer();

  const words = (text) =>
    new Set(
      splitQuery(text.toLowerCase().replace(/(\d)(ms|s)\b/g, "$1 $2"))
        .filter((word) => !stopwords.has(word))
        .map((word) => stemmer.stemWord(word)),
    );

  // A word that few headings have tells more.
  const weights = (headings) => {
    const counts = new Map();
    for (const [, found] of headings)
      for (const word of found) counts.set(word, (counts.get(word) ?? 0) + 1);
    return (word) => Math.log(1 + headings.length / (counts.get(word) ?? headings.length));
  };

  const sum = (set, weight) => [...set].reduce((total, word) => total + weight(word), 0);

  const inHeadings = (query) => {
    const { alltitles, titles, docnames, filenames } = Search._index;
    const asked = words(query);
    const headings = Object.keys(alltitles).map((title) => [title, words(title)]);
    const weight = weights(headings);
    const likeness = (found) => {
      const both = sum(new Set([...asked].filter((word) => found.has(word))), weight);
      return (2 * both) / (sum(asked, weight) + sum(found, weight));
    };
    return headings.flatMap(([title, found]) => {
      const called = (ALIASES[title] ?? []).map(words);
      const share = Math.max(...[found, ...called].map(likeness));
      if (!(share >= LEAST_SHARE)) return [];
      return alltitles[title].map(([file, id]) => [
        docnames[file],
        titles[file] === title ? title : `${titles[file]} > ${title}`,
        id === null ? "" : `#${id}`,
        null,
        Math.round(BEST_SCORE * share),
        filenames[file],
        SearchResultKind.title,
      ]);
    });
  };

  const withMostWords = (terms, excluded) => {
    const pages = new Map();
    for (const term of terms)
      for (const page of Search.performTermsSearch(new Set([term]), excluded)) {
        const known = pages.get(page[0]);
        if (known) known[4] += page[4];
        else pages.set(page[0], page);
      }
    return [...pages.values()];
  };

  const searched = Search._performSearch;
  Search._performSearch = (query, terms, excluded, ...rest) => {
    const same = (one, other) => one[0] === other[0] && one[2] === other[2];
    const headings = inHeadings(query);
    const found = searched(query, terms, excluded, ...rest).filter(
      (result) => !headings.some((heading) => same(heading, result)),
    );
    const all = found.length + headings.length ? [...headings, ...found] : withMostWords(terms, excluded);
    for (const result of all) if (!FOR_USERS.test(result[0])) result[4] -= BEHIND;
    return all.sort(_orderResultsByScoreThenName);
  };
})();
