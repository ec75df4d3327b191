/**
 * /docs/search.js: filters the list while one types. The page works without it, because the form sends ?q= to the
 * server, which applies the same rule (search.ts). A file of its own, since the policy of the page forbids inline script.
 */
export const SEARCH_SCRIPT = `'use strict';
(() => {
  const form = document.querySelector('form[role=search]');
  const input = form && form.querySelector('input[name=q]');
  const count = document.querySelector('[data-count]');
  const none = document.querySelector('[data-none]');
  const areas = [...document.querySelectorAll('[data-area]')].map((element) => ({
    element,
    rows: [...element.querySelectorAll('[data-search]')].map((row) => ({ row, text: row.dataset.search })),
  }));
  if (!input || !count || !none) return;

  const apply = () => {
    const words = input.value.slice(0, 200).toLowerCase().split(/\\s+/).filter((word) => word !== '');
    let shown = 0;
    for (const area of areas) {
      let inArea = 0;
      for (const { row, text } of area.rows) {
        const hit = words.every((word) => text.includes(word));
        row.hidden = !hit;
        if (hit) inArea += 1;
      }
      area.element.hidden = inArea === 0;
      shown += inArea;
    }
    count.textContent = shown === 1 ? '1 code' : shown + ' codes';
    none.hidden = shown !== 0;
    const query = input.value.trim();
    history.replaceState(null, '', query === '' ? location.pathname : '?q=' + encodeURIComponent(query));
  };

  input.addEventListener('input', apply);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
    const visible = areas.flatMap((area) => area.rows).filter(({ row }) => !row.hidden);
    if (visible.length === 1) visible[0].row.querySelector('a').click();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== input && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
})();
`;
