/** /docs/style.css: light and dark by the reader's setting, one column on a phone. */
export const STYLE = `:root {
  color-scheme: light dark;
  --page: #ffffff; --raised: #f5f7f9; --line: #dbe1e7; --text: #17202a; --soft: #52606d;
  --link: #0b5cad; --refused: #b42318; --refused-tint: #fdecea; --accepted: #176b3a; --accepted-tint: #e6f4ea;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12171d; --raised: #1a2129; --line: #303a45; --text: #e4e9ee; --soft: #a3b0bd;
    --link: #7db8f5; --refused: #ff9c92; --refused-tint: #43211f; --accepted: #7ed8a0; --accepted-tint: #1a3626;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 1rem; top: .5rem; background: var(--page); padding: .25rem .5rem; }
.top { border-bottom: 1px solid var(--line); }
.top nav {
  max-width: 60rem; margin: 0 auto; padding: .75rem 1.25rem;
  display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
}
.top a { text-decoration: none; }
.top a:hover { text-decoration: underline; }
.brand { font-weight: 650; font-size: 1.1rem; color: var(--text); margin-right: auto; }
.brand span { color: var(--soft); font-weight: 400; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; }
main > p, main > h1, .lead { max-width: 46rem; }
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
.facts { margin: 0; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.facts > div { display: grid; grid-template-columns: 8rem 1fr; gap: 1rem; padding: .5rem 1rem; }
.facts > div + div { border-top: 1px solid var(--line); }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
.accepted { border-left: 4px solid var(--accepted); background: var(--accepted-tint); padding: .65rem 1rem; border-radius: 0 8px 8px 0; }
pre {
  margin: 0; padding: .85rem 1rem; background: var(--raised); border: 1px solid var(--line); border-radius: 8px;
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
  main { padding: 1rem 1rem 4rem; }
  .top nav { padding: .75rem 1rem; }
  h1 { font-size: 1.5rem; }
  h1.code { font-size: 1.25rem; }
  .lead { font-size: 1.05rem; }
  .pair { grid-template-columns: minmax(0, 1fr); }
  .facts > div { grid-template-columns: 6.5rem 1fr; gap: .5rem; padding: .5rem .75rem; }
}
@media print { .top, .skip, form { display: none; } }
`;
