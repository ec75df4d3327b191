import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { preferredOwner, SHARD_COUNT, shardOf } from './shard-map.ts';

const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

describe('the map of shards', () => {
  it('never changes for a tenant: processes of two versions must agree', () => {
    expect(shardOf('11111111-1111-4111-8111-111111111111' as TenantId)).toBe(14);
    expect(shardOf('0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f' as TenantId)).toBe(28);
  });

  it('spreads tenants over all shards', () => {
    const counts = Array.from({ length: SHARD_COUNT }, () => 0);
    for (let index = 0; index < 6400; index += 1) {
      const shard = shardOf(randomUUID() as TenantId);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(50);
    expect(Math.max(...counts)).toBeLessThan(160);
  });

  it('moves only the shards of the process that came or went', () => {
    const three = ['cp_a1', 'cp_b2', 'cp_c3'];
    const two = ['cp_a1', 'cp_c3'];
    const owners = shards.map((shard) => preferredOwner(shard, three));
    expect(new Set(owners).size).toBe(3);
    for (const shard of shards) {
      if (owners[shard] === 'cp_b2') expect(two).toContain(preferredOwner(shard, two));
      else expect(preferredOwner(shard, two)).toBe(owners[shard]);
    }
  });

  it('does not depend on the order in which processes are listed, and knows nobody when there is nobody', () => {
    for (const shard of shards)
      expect(preferredOwner(shard, ['x', 'y', 'z'])).toBe(preferredOwner(shard, ['z', 'x', 'y']));
    expect(preferredOwner(0, [])).toBeUndefined();
  });
});
