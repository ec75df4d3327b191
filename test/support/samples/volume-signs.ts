import type { VolumeSigns } from '../../../src/server/runtime/volume-signs.ts';

/** Nobody decides: volumes are told of and kept, and nothing is promoted. */
export const NO_VOLUME_SIGNS: VolumeSigns = {
  mayLease: () => true,
  leased: () => undefined,
  reported: () => undefined,
  closed: () => undefined,
};
