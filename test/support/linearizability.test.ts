import { describe, expect, it } from 'vitest';
import {
  isLinearizable,
  notLinearizable,
  type RecordAnswer,
  type RecordCall,
  type RecordedCall,
} from './linearizability.ts';

function made(startMs: number, endMs: number, call: RecordCall, answer: RecordAnswer): RecordedCall {
  return { key: 'web', call, startMs, endMs, answer };
}

const created = made(0, 1, { kind: 'create', value: 'a' }, { kind: 'written', tag: '1' });
const readA = (from: number, to: number): RecordedCall =>
  made(from, to, { kind: 'read' }, { kind: 'found', value: 'a', tag: '1' });
const readB = (from: number, to: number): RecordedCall =>
  made(from, to, { kind: 'read' }, { kind: 'found', value: 'b', tag: '2' });
const update = (from: number, to: number, tag = '2', value = 'b'): RecordedCall =>
  made(from, to, { kind: 'update', value, ifMatch: '1' }, { kind: 'written', tag });
const lost: RecordedCall = { key: 'web', call: { kind: 'update', value: 'b' }, startMs: 2 };
const absent = (from: number, to: number): RecordedCall =>
  made(from, to, { kind: 'read' }, { kind: 'absent' });

describe('a history that could have happened is accepted', () => {
  it.each<[string, readonly RecordedCall[]]>([
    ['in sequence', [absent(-2, -1), created, readA(2, 3), update(4, 5), readB(6, 7)]],
    ['reads beside a write see either', [created, update(2, 9), readA(3, 4), readB(5, 6)]],
    ['a lost answer that took effect late', [created, lost, readA(5, 6), readB(7, 8)]],
    ['a lost answer that never took effect', [created, lost, readA(5, 6), readA(7, 8)]],
    [
      'one of two conditional writes',
      [created, update(2, 6), made(2, 6, { kind: 'update', value: 'c', ifMatch: '1' }, { kind: 'mismatch' })],
    ],
    [
      'deleted and created again',
      [
        created,
        made(2, 3, { kind: 'delete' }, { kind: 'deleted' }),
        absent(4, 5),
        made(6, 7, { kind: 'create', value: 'c' }, { kind: 'written', tag: '4' }),
      ],
    ],
  ])('%s', (_name, history) => {
    expect(isLinearizable(history)).toBe(true);
  });
});

describe('a history that could not have happened is found', () => {
  it.each<[string, readonly RecordedCall[]]>([
    ['a stale read', [created, update(2, 3), readA(4, 5)]],
    ['reads that go back', [created, update(2, 9), readB(3, 4), readA(5, 6)]],
    ['a lost update', [created, update(2, 6), update(3, 7, '3', 'c')]],
    ['a lost write', [created, absent(2, 3)]],
    ['a write that comes back after it was not there', [created, lost, readB(3, 4), readA(5, 6)]],
    ['a phantom', [created, readB(2, 3)]],
    ['two creations', [created, made(2, 3, { kind: 'create', value: 'c' }, { kind: 'written', tag: '3' })]],
    [
      'a refusal without a reason',
      [created, made(2, 3, { kind: 'update', value: 'b', ifMatch: '1' }, { kind: 'mismatch' })],
    ],
    ['effect before the call', [created, readB(2, 3), update(4, 5)]],
  ])('%s', (_name, history) => {
    expect(isLinearizable(history)).toBe(false);
    const other = history.map((call) => ({ ...call, key: 'other' }));
    expect(notLinearizable([created, ...other])).toEqual(['other']);
  });
});
