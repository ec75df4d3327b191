const DARK = `color-scheme: dark;
  --page: #0e131a; --surface: #161c25; --raised: #10161e; --line: #263040; --text: #e8edf4; --soft: #a3b0c0;
  --link: #2dd4bf; --link-soft: #12312f; --refused: #ff8e86; --refused-tint: #3a1a1a; --accepted: #5fd38d; --accepted-tint: #12301f;
  --shadow: 0 16px 44px rgb(0 0 0 / 60%);`;

/** /docs/style.css: the colours of the dashboard, light and dark by the reader's setting, one column on a phone. */
export const STYLE = `@font-face {
  font-family: "Inter Variable"; font-style: normal; font-display: swap; font-weight: 100 900;
  src: url("inter.woff2") format("woff2-variations");
}
:root {
  color-scheme: light;
  --page: #f6f7f9; --surface: #ffffff; --raised: #f0f2f5; --line: #e2e6ec; --text: #111a27; --soft: #546172;
  --link: #0f766e; --link-soft: #e3f3f1; --refused: #b3261e; --refused-tint: #fdeae8; --accepted: #15733c; --accepted-tint: #e4f4ea;
  --shadow: 0 12px 36px rgb(17 26 39 / 18%);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { ${DARK} } }
:root[data-theme=dark] { ${DARK} }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.6 "Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  /* Inter makes 02x23 a product: 02×23. */
  font-variant-ligatures: no-contextual;
}
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 1rem; top: .5rem; background: var(--page); padding: .25rem .5rem; }
.top { border-bottom: 1px solid var(--line); background: var(--surface); position: sticky; top: 0; z-index: 2; }
.top nav {
  max-width: 82rem; margin: 0 auto; padding: .6rem 1.25rem;
  display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: center;
}
.to-pages { display: none; }
.top a { text-decoration: none; }
.top a:hover { text-decoration: underline; }
.brand { font-weight: 650; font-size: 1.1rem; color: var(--text); margin-right: auto; }
.brand span { color: var(--soft); font-weight: 400; }
.frame { max-width: 82rem; margin: 0 auto; padding: 0 1.25rem; display: flex; flex-direction: row-reverse; justify-content: flex-end; gap: 2.5rem; }
main { flex: 1; min-width: 0; max-width: 60rem; padding: 1.5rem 0 5rem; }
.frame > main:only-child { margin: 0 auto; }
.pages { flex: 0 0 15rem; padding: 1.25rem 0 3rem; font-size: .875rem; position: sticky; top: 3.2rem; align-self: flex-start; max-height: calc(100vh - 3.2rem); overflow-y: auto; }
.pages h2 { font-size: .75rem; color: var(--soft); font-weight: 600; margin: 1.1rem 0 .2rem; padding: 0 .6rem; }
.pages ul { list-style: none; margin: 0; padding: 0; }
.pages a { display: block; padding: .2rem .6rem; border-radius: 6px; color: var(--text); text-decoration: none; }
.pages a:hover { background: var(--raised); }
.pages a[aria-current] { background: var(--link-soft); color: var(--link); font-weight: 600; }
.find { position: relative; flex: 0 1 22rem; }
.find input { font: inherit; font-size: .875rem; color: inherit; width: 100%; padding: .35rem .7rem; border: 1px solid var(--line); border-radius: 8px; background: var(--page); }
.found { position: absolute; right: 0; top: 2.4rem; width: min(36rem, 90vw); max-height: 70vh; overflow-y: auto; list-style: none; margin: 0; padding: .35rem; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; box-shadow: var(--shadow); }
.found a { display: block; padding: .45rem .6rem; border-radius: 6px; color: var(--text); }
.found a:hover, .found a:focus { background: var(--link-soft); text-decoration: none; }
.found strong { display: block; font-weight: 600; color: var(--link); }
.found span { display: block; font-size: .8125rem; color: var(--soft); line-height: 1.4; overflow-wrap: anywhere; }
.found .none { padding: .5rem .6rem; color: var(--soft); }
.text { max-width: 52rem; }
.text h1, .text h2, .text h3, .text h4 { scroll-margin-top: 4rem; }
.text h2 { font-size: 1.3rem; padding-top: .25rem; }
.text h3 { font-size: 1.05rem; margin: 1.75rem 0 .4rem; }
.text h4 { font-size: .95rem; margin: 1.25rem 0 .4rem; }
.text :is(h2, h3, h4) > a.anchor { color: inherit; text-decoration: none; }
.text :is(h2, h3, h4) > a.anchor:hover { color: var(--link); }
.text :is(p, li, td) code { background: var(--raised); border-radius: 4px; padding: .1em .25em; overflow-wrap: anywhere; }
.text a code { text-underline-offset: 4px; }
.text a:has(code) { text-underline-offset: 4px; }
.text ul, .text ol { padding-left: 1.4rem; }
.text li { margin: .25rem 0; }
.text img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; }
.text blockquote { margin: 1rem 0; padding: .1rem 1rem; border-left: 4px solid var(--line); color: var(--soft); }
.table { overflow-x: auto; margin: .75rem 0; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); }
.table table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.5; }
.table th, .table td { text-align: left; vertical-align: top; padding: .45rem .8rem; border-top: 1px solid var(--line); min-width: 5rem; }
.table tr:first-child > th { border-top: 0; }
.table th { background: var(--raised); font-weight: 600; }
.table thead:not(:has(th:not(:empty))) { display: none; }
.block { position: relative; margin: .75rem 0; }
.copy { position: absolute; right: .4rem; top: .4rem; font: inherit; font-size: .75rem; color: var(--soft); background: var(--surface); border: 1px solid var(--line); border-radius: 6px; padding: .1rem .5rem; cursor: pointer; opacity: 0; }
.block:hover .copy, .copy:focus-visible { opacity: 1; }
@media (hover: none) { .copy { opacity: 1; } }
.text pre { margin: .75rem 0; }
.block pre { margin: 0; }
.text pre code { white-space: pre; overflow-wrap: normal; }
.typed { color: var(--link); font-weight: 600; }
.toc { margin: .75rem 0 1.5rem; padding: .6rem 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); font-size: .875rem; }
.toc ul { columns: 16rem; list-style: none; padding: 0; margin: .4rem 0 0; }
.toc li { break-inside: avoid; margin: .15rem 0; }
.around { display: flex; justify-content: space-between; gap: 1rem; flex-wrap: wrap; margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
main > p, main > h1, .lead { max-width: 52rem; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: .25rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 2.25rem 0 .5rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.15rem; color: var(--soft); margin-bottom: 1.25rem; }
.crumbs { font-size: .9rem; color: var(--soft); margin: 0 0 .75rem; }
code, pre, .code { font-family: var(--mono); font-size: .9em; }
h1.code { font-size: 1.65rem; font-weight: 650; }
p code, dd code { overflow-wrap: anywhere; }
main > p code { background: var(--raised); border-radius: 4px; padding: .1em .25em; }
.note { color: var(--soft); font-size: .9rem; }
.facts { margin: 0; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.facts > div { display: grid; grid-template-columns: 8rem 1fr; gap: 1rem; padding: .5rem 1rem; }
.facts > div + div { border-top: 1px solid var(--line); }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
.accepted { border-left: 4px solid var(--accepted); background: var(--accepted-tint); padding: .65rem 1rem; border-radius: 0 8px 8px 0; }
pre {
  margin: 0; padding: .85rem 1rem; background: var(--surface); border: 1px solid var(--line); border-radius: 8px;
  overflow-x: auto; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere;
}
pre code { font-size: .875rem; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.example { margin: 0; display: flex; flex-direction: column; }
.example pre { flex: 1; border-top: 0; border-radius: 0 0 8px 8px; }
.example figcaption { padding: .3rem 1rem; border-radius: 8px 8px 0 0; font-weight: 600; font-size: .9rem; border: 1px solid var(--line); }
.refused figcaption { background: var(--refused-tint); color: var(--refused); }
.refused figcaption::before { content: "\\2717\\00a0\\00a0"; }
.corrected figcaption { background: var(--accepted-tint); color: var(--accepted); }
.corrected figcaption::before { content: "\\2713\\00a0\\00a0"; }
.example mark { border-radius: 3px; padding: 0 .15em; margin: 0 -.15em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.refused mark { background: var(--refused-tint); color: var(--refused); }
.corrected mark { background: var(--accepted-tint); color: var(--accepted); }
.guides { columns: 22rem; column-gap: 2.5rem; }
.guides li { break-inside: avoid; padding: .35rem 0; }
.guides li > a { font-weight: 600; }
.guides p { margin: 0; font-size: .875rem; line-height: 1.5; color: var(--soft); }
.codes, .related, .guides { list-style: none; margin: 0; padding: 0; }
.codes li { padding: .65rem 0; border-top: 1px solid var(--line); }
.codes p { margin: .1rem 0 0; }
.row-head { display: flex; gap: .75rem; align-items: baseline; justify-content: space-between; }
.code { overflow-wrap: anywhere; }
a.code { font-weight: 600; }
.status { font-family: var(--mono); font-size: .8rem; color: var(--soft); border: 1px solid var(--line); border-radius: 999px; padding: 0 .55rem; white-space: nowrap; }
.field { font-size: .875rem; color: var(--soft); }
.related { columns: 18rem; column-gap: 1.5rem; }
.related li { break-inside: avoid; padding: .15rem 0; }
.related a.code { font-weight: 400; }
form[role=search] { margin-top: 1rem; }
form label { display: block; font-weight: 600; margin-bottom: .25rem; }
.search { display: flex; gap: .5rem; max-width: 46rem; }
.search input, .search button { font: inherit; color: inherit; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: 8px; background: var(--raised); }
.search input { flex: 1; min-width: 0; }
.search button { cursor: pointer; }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
.count { font-size: .9rem; color: var(--soft); }
@media (max-width: 44rem) {
  main { padding: 1rem 0 3rem; }
  .frame { padding: 0 1rem; }
  .top { position: static; }
  .top nav { padding: .75rem 1rem; }
  .find { order: 9; flex: 1 0 100%; }
  .found { left: 0; width: 100%; }
  h1 { font-size: 1.5rem; }
  h1.code { font-size: 1.25rem; }
  .lead { font-size: 1.05rem; }
  .pair { grid-template-columns: minmax(0, 1fr); }
  .facts > div { grid-template-columns: 6.5rem 1fr; gap: .5rem; padding: .5rem .75rem; }
}
@media (max-width: 60rem) {
  .frame { flex-direction: column; gap: 0; }
  .pages { position: static; max-height: none; border-top: 1px solid var(--line); flex: none; columns: 14rem; }
  .pages h2 { break-after: avoid; }
  .pages a { padding: .35rem .6rem; }
  .to-pages { display: inline; }
}
@media print { .pages, .find, .copy, .top, .skip, form { display: none; } }
`;
