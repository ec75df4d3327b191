/**
 * /docs/docs.js, on every page: the theme that was chosen in the dashboard, a button that copies a block, and the search over the guide and
 * the reference. The index of the search (search.json, made by the build) is fetched when somebody first types. Every page works without it.
 */
export const DOCS_SCRIPT = `'use strict';
(() => {
  const theme = localStorage.getItem('berth.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  /* Of a session: what was typed, without prompt and output. */
  const commandsOf = (text) => {
    const typed = [];
    let open = false;
    for (const line of text.split('\\n')) {
      if (line.startsWith('$ ')) typed.push(line.slice(2));
      else if (open) typed.push(line);
      else continue;
      open = line.endsWith('\\\\');
    }
    return typed.join('\\n');
  };

  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    /* Without HTTPS there is no clipboard for scripts. */
    const area = make('textarea', { value: text });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  };

  for (const block of document.querySelectorAll('pre[data-copy]')) {
    const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' });
    button.addEventListener('click', async () => {
      const text = block.querySelector('code').textContent;
      await copy(block.dataset.copy === 'console' ? commandsOf(text) : text);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    const box = make('div', { className: 'block' });
    block.replaceWith(box);
    box.append(block, button);
  }

  const form = document.querySelector('form[data-find]');
  if (!form) return;
  const input = form.querySelector('input');
  const list = form.querySelector('ol');
  let sections;
  const load = () => (sections ??= fetch(form.dataset.find + '/search.json').then((answer) => answer.json()));

  const score = ([, title, heading, text], words) => {
    const head = (title + ' ' + heading).toLowerCase();
    let total = 0;
    for (const word of words) {
      if (heading.toLowerCase().includes(word)) total += 20;
      else if (head.includes(word)) total += 10;
      else if (text.toLowerCase().includes(word)) total += 1;
      else return 0;
    }
    return total;
  };

  const excerpt = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word));
    const from = at < 60 ? 0 : text.indexOf(' ', at - 60) + 1;
    return (from === 0 ? '' : '… ') + text.slice(from, from + 150);
  };

  let turn = 0;
  const search = async () => {
    const mine = ++turn;
    const words = input.value.slice(0, 200).toLowerCase().split(/\\s+/).filter((word) => word !== '');
    if (words.length === 0) {
      list.hidden = true;
      return;
    }
    const all = await load();
    if (mine !== turn) return;
    const found = all
      .map((section) => ({ section, points: score(section, words) }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points)
      .slice(0, 12);
    list.replaceChildren(...found.map(({ section: [path, title, heading, text] }) =>
      make('li', {}, make('a', { href: form.dataset.find + '/' + path },
        make('strong', { textContent: heading === '' ? title : title + ' · ' + heading }),
        make('span', { textContent: excerpt(text, words[0]) })))));
    if (found.length === 0) list.append(make('li', { className: 'none', textContent: 'Nothing has all of these words.' }));
    list.hidden = false;
  };

  input.addEventListener('input', search);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    search().then(() => list.querySelector('a')?.click());
  });
  form.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Escape') { list.hidden = true; input.focus(); }
    else if (event.key === 'ArrowDown') (links[at + 1] ?? links[0])?.focus();
    else if (event.key === 'ArrowUp') (at <= 0 ? input : links[at - 1]).focus();
    else return;
    event.preventDefault();
  });
  document.addEventListener('click', (event) => { if (!form.contains(event.target)) list.hidden = true; });
  document.addEventListener('keydown', (event) => {
    const typing = /^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
})();
`;
