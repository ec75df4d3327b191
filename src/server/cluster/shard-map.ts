import type { TenantId } from '../../core/model/ids.ts';

/** Fixed for ever, since every process must agree on it. */
export const SHARD_COUNT = 64;

/** FNV-1a: the same in every process, and cheap enough to be asked with every change. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  // Ids differ in few characters: without this the low bits of near ids are near, too.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function shardOf(tenantId: TenantId): number {
  return digest(tenantId) % SHARD_COUNT;
}

/** Which of the processes should hold the shard: when one comes or goes, only its own shards move. */
export function preferredOwner(shard: number, processes: readonly string[]): string | undefined {
  let best: string | undefined;
  let highest = -1;
  for (const id of processes) {
    const weight = digest(`${shard}/${id}`);
    if (weight > highest || (weight === highest && best !== undefined && id > best)) {
      best = id;
      highest = weight;
    }
  }
  return best;
}
