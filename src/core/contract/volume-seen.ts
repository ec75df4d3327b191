import type { VolumeObservation } from '../protocol/agent-protocol.ts';

/**
 * The last observation of a volume by a node. `gone`: it was ordered to remove its bytes, did so, and has none any more.
 * `measuredAt` is the server's time of receipt.
 */
export type SeenVolume = Omit<VolumeObservation, 'state'> & {
  readonly state: VolumeObservation['state'] | 'gone';
  readonly measuredAt: string;
  /** Of a primary: that it is nearly full was told, and the end of it was not yet. */
  readonly nearlyFull?: true;
};
