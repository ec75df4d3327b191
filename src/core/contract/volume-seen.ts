import type { VolumeObservation } from '../protocol/agent-protocol.ts';

/**
 * What a node last said of a volume. `gone`: it was told to remove its bytes, took that up, and has none any more.
 * `measuredAt` is the server's time of receipt.
 */
export type SeenVolume = Omit<VolumeObservation, 'state'> & {
  readonly state: VolumeObservation['state'] | 'gone';
  readonly measuredAt: string;
};
