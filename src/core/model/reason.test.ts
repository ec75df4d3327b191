import { describe, expect, it } from 'vitest';
import { reasonOf } from './reason.ts';

describe('a message of a list', () => {
  it.each([
    ['3 of 3 instances run', '3 of 3 instances run'],
    ['no node takes it: disk=nvme: 3 nodes lack it; x', 'no node takes it: disk=nvme: 3 nodes lack it; x'],
    [
      'instance ins_01a on berlin-1 has no container, its image cannot be pulled: answered 500; again',
      'its image cannot be pulled: answered 500; again (on berlin-1)',
    ],
    [
      'instance ins_01a on b1 exits: x; instance ins_01b on b2 exits: x; and 2 more instances; 1 of 2 instances that are to be replaced still serve',
      'exits: x (2 on b1, b2); and 2 more instances; 1 of 2 instances that are to be replaced still serve',
    ],
    ['instance ins_01a: node b1 does not answer', 'node b1 does not answer'],
    ['volume pg-data: 92 % are used', '92 % are used'],
    [
      'instance ins_01a on b1 failed; instance ins_01b on b1 is unhealthy: exit 1',
      'failed (on b1); is unhealthy: exit 1 (on b1)',
    ],
  ])('%j begins with the reason', (message, shown) => expect(reasonOf(message)).toBe(shown));
});
