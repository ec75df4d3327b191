import { createHash, createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PeerProofs, PROOF_FORM, prove } from './peer-proof.ts';

describe('the proof between control planes', () => {
  const key = randomBytes(32);
  const asked = { method: 'POST', path: '/internal/v1/streams', body: '{"node":"n1"}' };
  const first = { id: 'cp_1', form: PROOF_FORM };
  const never = (): boolean => false;

  it('is taken once, by the process it was made for, for the request it was made for', () => {
    const proofs = new PeerProofs(key, 'cp_1', never);
    const proof = prove(key, first, asked);
    expect(proofs.holds(proof, { ...asked, body: `${asked.body} ` })).toBe(false);
    expect(proofs.holds(proof, { ...asked, path: '/internal/v1/questions' })).toBe(false);
    expect(proofs.holds(proof, { ...asked, method: 'GET' })).toBe(false);
    expect(new PeerProofs(key, 'cp_2', never).holds(proof, asked)).toBe(false);
    expect(new PeerProofs(randomBytes(32), 'cp_1', never).holds(proof, asked)).toBe(false);
    expect(proofs.holds(proof, asked)).toBe(true);
    expect(proofs.holds(proof, asked)).toBe(false);
  });

  it('of the first release is made for and taken from processes of that release, and only while one is there', () => {
    let olderThere = true;
    const proofs = new PeerProofs(key, 'cp_1', () => olderThere);
    // As the first release spelled it, written out: it must be read for as long as that release may be running.
    const nonce = randomBytes(16).toString('hex');
    const digest = createHash('sha256').update(asked.body).digest('hex');
    const mac = createHmac('sha256', key)
      .update(`berth control plane\ncp_1\n${nonce}\n${digest}`)
      .digest('hex');
    expect(proofs.holds(`${nonce}.${mac}`, asked)).toBe(true);
    expect(proofs.holds(`${nonce}.${mac}`, asked)).toBe(false);
    const made = prove(key, { id: 'cp_1', form: undefined }, asked);
    expect(made).toMatch(/^[0-9a-f]{32}\.[0-9a-f]{64}$/);
    olderThere = false;
    expect(proofs.holds(made, asked)).toBe(false);
    expect(proofs.holds(prove(key, first, asked), asked)).toBe(true);
  });

  it.each([
    undefined,
    '',
    '.',
    'x.y',
    '2.x.y',
    `2.${'0'.repeat(32)}.${'0'.repeat(64)}`,
    `1.${'0'.repeat(32)}.${'0'.repeat(64)}`,
    `2.${'0'.repeat(32)}.${'0'.repeat(64)}.`,
    `${'0'.repeat(32)}.${'0'.repeat(63)}`,
    `${'0'.repeat(32)}.${'g'.repeat(64)}`,
  ])('is not %s', (proof) => {
    expect(new PeerProofs(key, 'cp_1', () => true).holds(proof, asked)).toBe(false);
  });
});
