import { expect, it } from 'vitest';
import { ensureAble } from './machine.ts';

it('takes no part without the programs that it needs, and says which one is missing and where it is', async () => {
  const without = (missing: string) =>
    ensureAble(async (program) => (program === missing ? undefined : `/usr/sbin/${program}`));
  await expect(without('nft')).rejects.toThrow('nft is not installed; it is in the package nftables');
  await expect(without('bridge')).rejects.toThrow('bridge is not installed; it is in the package iproute2');
});
