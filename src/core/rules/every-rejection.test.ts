import { describe, expect, it } from 'vitest';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { shape, checkBody } from '../schema/shape.ts';
import { everyRejection, topOf, whole } from './every-rejection.ts';

const SERVICE = shape({
  type: 'object',
  fields: {
    name: { type: 'string' },
    ports: { type: 'list', items: { type: 'object', fields: { host: { type: 'integer' } } } },
    environment: { type: 'map', items: { type: 'string' } },
  },
});

function found(value: object): { readonly fields: readonly string[]; readonly rest: unknown } {
  const every = everyRejection(whole(value), (body) => checkBody(SERVICE, body));
  const fields: string[] = [];
  for (;;) {
    const { done, value: next } = every.next();
    if (done) return { fields, rest: next?.value };
    fields.push(next.field);
  }
}

describe('every rejection', () => {
  it('names each part that does not fit, as it was sent', () => {
    const ports = [{ host: 'a' }, { host: 1 }, 'b', { host: 2, hots: 3 }, 'c'];
    expect(found({ name: 5, ports, environment: { 'a.b': 1, c: 'd', 'a.b.c': 2 } })).toEqual({
      fields: [
        'name',
        'ports[0].host',
        'ports[2]',
        'ports[3].hots',
        'ports[4]',
        'environment.a.b',
        'environment.a.b.c',
      ],
      rest: { ports: [{}, { host: 1 }, { host: 2 }], environment: { c: 'd' } },
    });
  });

  it('leaves what was sent as it is', () => {
    const sent = { name: 5, ports: ['a'] };
    found(sent);
    expect(sent).toEqual({ name: 5, ports: ['a'] });
  });

  it('ends where something is missing', () => {
    const missing: Rejection = reject('image_required', { field: 'image', received: '(absent)', why: '' });
    const every = everyRejection(whole({ name: 'web' }), () => missing);
    expect(every.next().value).toEqual(missing);
    expect(every.next()).toEqual({ done: true, value: undefined });
  });

  it('goes on where a part of a part is missing, and knows where that was', () => {
    const first = everyRejection(whole({ ports: ['x', {}, { host: 1 }, {}] }), (body) =>
      checkBody(SERVICE, body),
    );
    expect(first.next().value).toMatchObject({ field: 'ports[0]' });
    const left = first.next().value;
    if (left === undefined || 'code' in left) throw new Error('nothing is left');
    const hostless = ({ ports }: { ports: readonly object[] }) => {
      const at = ports.findIndex((port) => !('host' in port));
      const field = `ports[${at}].host`;
      return at === -1 ? undefined : reject('ports_invalid', { field, received: '(absent)', why: '' });
    };
    const rest = [...everyRejection({ ...left, value: left.value as { ports: object[] } }, hostless)];
    expect(rest.map(({ field }) => field)).toEqual(['ports[1].host', 'ports[3].host']);
  });

  it('finds the field of the document', () => {
    expect(['ports[0].host', 'environment.A', 'image'].map((field) => topOf({ field }))).toEqual([
      'ports',
      'environment',
      'image',
    ]);
  });
});
