import { describe, expect, it } from 'vitest';
import { type Document, inDocumentOrder } from './document-order.ts';

const names = (...documents: readonly Document[]): string =>
  inDocumentOrder(documents.map((document) => ({ document })))
    .map(({ document }) => String(document['name']))
    .join(' ');

const on = (name: string, ...others: readonly string[]): Document => ({
  name,
  dependsOn: Object.fromEntries(others.map((other) => [other, 'started'])),
});

describe('the order of a set', () => {
  it('has what others refer to first, otherwise as it is given', () => {
    expect(
      names(
        { kind: 'Job', name: 'dump' },
        { name: 'web' },
        { kind: 'Volume', name: 'data' },
        { kind: 'Other', name: 'odd' },
        { kind: 'Deployment', name: 'api' },
        { kind: 'Network', name: 'net' },
      ),
    ).toBe('net data web api dump odd');
  });

  it('follows dependencies, which may be shared, missing, or wrong', () => {
    expect(names(on('a', 'c', 'b'), on('b', 'd'), on('c', 'd', 'gone'), on('d'))).toBe('d c b a');
    expect(names({ name: 'a', dependsOn: 'b' }, { name: 'b', dependsOn: ['c'] }, { name: 3 })).toBe('a b 3');
  });

  it('ends with a circle, and holds every one once', () => {
    expect(names(on('a', 'b'), on('b', 'c'), on('c', 'a'), on('d', 'd')).split(' ').sort()).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  it('takes a long chain', () => {
    const chain = Array.from({ length: 20_000 }, (_, at) => on(`n${at}`, `n${at + 1}`));
    expect(names(...chain).startsWith('n19999 n19998 ')).toBe(true);
  });
});
