import { expect, it } from 'vitest';
import { decodeRecord, encodeRecord, recordText } from './records.ts';

it.each([{}, { a: 1 }, { v: 2, a: [{ v: 1 }], text: '{"v":1,' }])(
  '%j as text says what was stored',
  (record) => {
    const stored = encodeRecord(record);
    expect(recordText('key', stored)).toBe(JSON.stringify(decodeRecord('key', stored)));
  },
);

it('a record of another version is no text either', () => {
  expect(() => recordText('key', '{"v":3,"a":1}')).toThrow('has format 3');
});
