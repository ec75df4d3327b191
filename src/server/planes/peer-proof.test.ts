import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PeerProofs, prove } from './peer-proof.ts';

describe('the proof between control planes', () => {
  const key = randomBytes(32);
  const body = '{"node":"n1"}';

  it('is taken once, by the process it was made for, with the body it was made for', () => {
    const proofs = new PeerProofs(key, 'cp_1');
    const proof = prove(key, 'cp_1', body);
    expect(proofs.holds(proof, `${body} `)).toBe(false);
    expect(new PeerProofs(key, 'cp_2').holds(proof, body)).toBe(false);
    expect(new PeerProofs(randomBytes(32), 'cp_1').holds(proof, body)).toBe(false);
    expect(proofs.holds(proof, body)).toBe(true);
    expect(proofs.holds(proof, body)).toBe(false);
  });

  it.each([
    undefined,
    '',
    '.',
    'x.y',
    `${'0'.repeat(32)}.${'0'.repeat(63)}`,
    `${'0'.repeat(32)}.${'g'.repeat(64)}`,
  ])('is not %s', (proof) => {
    expect(new PeerProofs(key, 'cp_1').holds(proof, body)).toBe(false);
  });
});
