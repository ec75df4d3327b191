import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../config-values.ts';
import { agreeOnRootKey, agreeOnTokenKey, hasRootKey } from './shared-keys.ts';
import { createMemoryKv } from '../store/memory.ts';

describe('keys that control planes share', () => {
  it('are those of the first; of several that start at once one wins', async () => {
    const kv = createMemoryKv();
    const keys = [randomBytes(32), randomBytes(32), randomBytes(32)];
    const outcomes = await Promise.allSettled(keys.map((key) => agreeOnTokenKey(kv, key, '/k')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') {
        expect(outcome.reason).toBeInstanceOf(ConfigError);
        expect(String(outcome.reason)).toContain('token_key_mismatch');
      }
    const winner = keys[outcomes.findIndex(({ status }) => status === 'fulfilled')];
    if (winner !== undefined) await agreeOnTokenKey(kv, winner, '/k');
  });

  it('change with a root key that the old one stands beside, and with no other', async () => {
    const kv = createMemoryKv();
    await agreeOnTokenKey(kv, randomBytes(32), '/k');
    expect(await hasRootKey(kv)).toBe(false);
    await agreeOnRootKey(kv, [], '/r');
    expect(await hasRootKey(kv)).toBe(false);
    await agreeOnRootKey(kv, ['one'], '/r');
    await expect(agreeOnRootKey(kv, ['two'], '/r')).rejects.toThrow('root_key_mismatch');
    await agreeOnRootKey(kv, ['two', 'one'], '/r');
    await agreeOnRootKey(kv, ['two'], '/r');
    await expect(agreeOnRootKey(kv, ['one'], '/r')).rejects.toThrow('root_key_mismatch');
  });
});
