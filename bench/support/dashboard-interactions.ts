import type { Interaction } from './page-timing.ts';

const text = (css: string): string => `(document.querySelector('${css}')?.textContent ?? '')`;
const heading = (title: string): string => `${text('h1')} === '${title}'`;
const firstRow = text('tbody tr a');
const counted = (words: string): string => `document.querySelector('main').textContent.includes('${words}')`;
const SEARCH = 'main input[type=search]';

/** A round of what people do with a long list, beginning and ending at the list of deployments, unfiltered. */
export function interactions(count: number, round: number): readonly Interaction[] {
  const wanted = `web-${String((round * 37) % count).padStart(5, '0')}`;
  const all = `${count.toLocaleString('en')} deployments`;
  const last = `web-${String(count - 1).padStart(5, '0')}`;
  const sort = (shown: string): Interaction => ({
    kind: 'sort',
    act: (page) => page.getByRole('button', { name: 'Name' }).click(),
    shown: `${firstRow} === '${shown}'`,
  });
  const press = (key: string, shown: string, kind: string): Interaction => ({
    kind,
    act: (page) => page.keyboard.press(key),
    shown,
  });
  return [
    sort('web-00000'),
    sort(last),
    {
      kind: 'page change',
      act: (page) => page.getByRole('link', { name: 'Nodes', exact: true }).click(),
      shown: `${heading('Nodes')} && document.querySelector('tbody tr') !== null`,
    },
    {
      kind: 'page change',
      act: (page) => page.getByRole('link', { name: 'Deployments', exact: true }).click(),
      shown: `${heading('Deployments')} && ${counted(all)}`,
    },
    { kind: 'filter', act: (page) => page.locator(SEARCH).click(), shown: 'true' },
    ...[...wanted].map((key, at) =>
      press(
        key,
        at < wanted.length - 1
          ? `document.querySelector('${SEARCH}').value === '${wanted.slice(0, at + 1)}' && document.querySelector('tbody tr a') !== null`
          : `${counted('1 deployment')} && ${firstRow} === '${wanted}'`,
        'filter',
      ),
    ),
    {
      kind: 'open',
      act: (page) => page.getByRole('link', { name: wanted, exact: true }).click(),
      shown: `${heading(wanted)} && document.querySelector('[role=tablist]') !== null`,
    },
    {
      kind: 'page change',
      act: (page) => page.getByRole('link', { name: 'Topology', exact: true }).click(),
      shown: `${heading('Topology')} && document.querySelector('main section section a') !== null`,
    },
    { kind: 'topology', act: (page) => page.locator(SEARCH).click(), shown: 'true' },
    ...['w', 'e', 'b', '-', '0'].map((key, at, keys) =>
      press(
        key,
        `document.querySelector('${SEARCH}').value === '${keys.slice(0, at + 1).join('')}'`,
        'topology',
      ),
    ),
    press('4', "document.querySelector('main [data-faded]') !== null", 'topology'),
    press('Control+k', "document.querySelector('[role=dialog] [role=combobox]') !== null", 'palette'),
    ...[...wanted].map((key, at) =>
      press(
        key,
        at < wanted.length - 1
          ? `document.querySelector('[role=combobox]').value === '${wanted.slice(0, at + 1)}'`
          : `[...document.querySelectorAll('[role=option]')].some((one) => one.textContent.includes('${wanted}'))`,
        'palette',
      ),
    ),
    press('Enter', heading(wanted), 'palette'),
    {
      kind: 'page change',
      act: (page) => page.getByRole('link', { name: 'Deployments', exact: true }).click(),
      shown: `${heading('Deployments')} && ${counted(all)}`,
    },
  ];
}
