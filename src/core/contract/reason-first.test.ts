import { describe, expect, it } from 'vitest';
import { reasonFirst } from './reason-first.ts';

describe('a message of a list', () => {
  it.each([
    ['3 of 3 instances run', '3 of 3 instances run'],
    [
      'no node takes it: label disk=nvme: 3 nodes lack it; x',
      'no node takes it: label disk=nvme: 3 nodes lack it; x',
    ],
    [
      'instance ins_01a on berlin-1 cannot pull its image: the registry; it answered 500',
      'cannot pull its image: the registry; it answered 500 (on berlin-1)',
    ],
    [
      'instance ins_01a on b1 exits again and again: x; instance ins_01b on b2 exits again and again: x; and 2 more instances; 1 of 2 instances that are to be replaced still serve',
      'exits again and again: x (2 on b1, b2); and 2 more instances; 1 of 2 instances that are to be replaced still serve',
    ],
    ['instance ins_01a: node b1 does not answer', 'node b1 does not answer'],
    [
      'instance ins_01a on b1 failed; instance ins_01b on b1 is unhealthy',
      'failed (on b1); is unhealthy (on b1)',
    ],
  ])('%j begins with the reason', (message, shown) => expect(reasonFirst(message)).toBe(shown));
});
