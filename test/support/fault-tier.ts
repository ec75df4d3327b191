/**
 * Tests have two lengths: the usual one of every run, and the long one of `npm run test:long`, which finds whoever imports this. The variable has no prefix of
 * ours, because the programs under test refuse variables of ours that they do not know.
 */
export const LONG_TIER = process.env['FAULT_TIER'] === 'long';

export function inTier({ usual, long }: { readonly usual: number; readonly long: number }): number {
  return LONG_TIER ? long : usual;
}
