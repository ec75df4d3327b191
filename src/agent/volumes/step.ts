import type { KeptDivergence } from './divergence-ages.ts';
import type { VolumeMetadata } from './volume-metadata.ts';

/** Everything that is ever done to a volume, one at a time. `refuse` ends the pass with its problem; it is tried again later. */
export type VolumeStep =
  /** `leased`: with who may still write it, from before this agent. */
  | { readonly kind: 'recall'; readonly leased: boolean }
  | { readonly kind: 'refuse'; readonly reason: string; readonly message: string }
  /** The record is on disk before anything is done under it. */
  | { readonly kind: 'remember'; readonly record: VolumeMetadata }
  /** Without a lease nothing may be written: the mount is no longer this node's. */
  | { readonly kind: 'letGo' }
  | { readonly kind: 'ensureWatchdog' }
  | { readonly kind: 'endSending' }
  | { readonly kind: 'mount'; readonly engine: string; readonly sizeBytes: number }
  | { readonly kind: 'resize'; readonly sizeBytes: number }
  /** In the file of the watchdog, before a container can write. */
  | { readonly kind: 'holdLease' }
  | { readonly kind: 'releaseLease' }
  /** `mustExist`: a copy has become the volume, and must not go on with nothing. */
  | {
      readonly kind: 'makeWritable';
      readonly engine: string;
      readonly epoch: number;
      readonly mustExist: boolean;
    }
  | { readonly kind: 'lookAside' }
  | {
      readonly kind: 'send';
      readonly engine: string;
      readonly epoch: number;
      readonly targets: readonly string[];
    }
  /** Nothing has it mounted any more: its last copy goes out. */
  | {
      readonly kind: 'seal';
      readonly engine: string;
      readonly epoch: number;
      readonly attempt: number;
      readonly targets: readonly string[];
    }
  /** Ends the writers of an earlier epoch, or those that are left when the lease is given back. */
  | { readonly kind: 'fence' }
  /** What was written here under an earlier epoch is kept aside. */
  | { readonly kind: 'demote' }
  | { readonly kind: 'checkReceiving'; readonly engine: string }
  /** The time of these is over. */
  | { readonly kind: 'discard'; readonly divergences: readonly KeptDivergence[] }
  | { readonly kind: 'locate'; readonly epoch: number; readonly hostPath: string | undefined }
  | { readonly kind: 'close'; readonly engine: string }
  | { readonly kind: 'remove' };

export type StepOf<Kind extends VolumeStep['kind']> = Extract<VolumeStep, { readonly kind: Kind }>;
