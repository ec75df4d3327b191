import { expect, it } from 'vitest';
import { nextLink } from './next-link.ts';

it.each([
  ['</api/v1/x?cursor=a>; rel="next"', '/api/v1/x?cursor=a'],
  ['</api/v1/x?cursor=a>;rel="next"', '/api/v1/x?cursor=a'],
  ['</x>; rel="prev"', undefined],
  [undefined, undefined],
  [null, undefined],
])('the next page of %s is %s', (link, page) => expect(nextLink(link)).toBe(page));
