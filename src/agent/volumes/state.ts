import type { Measurement } from './image.ts';
import type { KeptDivergence } from './divergence-ages.ts';
import type { Copy } from './volume-engine.ts';
import type { VolumeMetadata } from './volume-metadata.ts';

export interface VolumeProblem {
  readonly reason: string;
  readonly message: string;
}

/**
 * What this process has of a volume. Containers can be given `writing` and `outside` alone, each under the epoch it was prepared for;
 * copies are sent of nothing but what is written. `Volume` and `Sender` are handles: a plan never looks into them.
 */
export type Hold<Volume = unknown, Sender = unknown> =
  | { readonly kind: 'nothing' }
  /** Mounted: a copy, or what is not prepared for containers yet. */
  | { readonly kind: 'mounted'; readonly volume: Volume }
  | {
      readonly kind: 'writing';
      readonly volume: Volume;
      readonly epoch: number;
      readonly source: string;
      readonly sender?: Sender;
    }
  /** Nothing writes it, and nothing can: its last copy is brought to other nodes, for the move of that number. */
  | {
      readonly kind: 'sealed';
      readonly volume: Volume;
      readonly epoch: number;
      readonly attempt: number;
      readonly sender: Sender;
    }
  /** A folder of the host, or memory (an empty source): none of its bytes are ours to keep. */
  | { readonly kind: 'outside'; readonly epoch: number; readonly source: string }
  | { readonly kind: 'removed' };

/** One value: it is replaced as a whole, when a step is done. */
export interface VolumeState<Volume = unknown, Sender = unknown> {
  /** As it is on disk; nothing is known before it was read. */
  readonly record: 'unread' | 'none' | VolumeMetadata;
  readonly hold: Hold<Volume, Sender>;
  readonly measured?: Measurement;
  /** A smaller size that was ordered and could not be had, with what was used then. */
  readonly tooSmall?: { readonly sizeBytes: number; readonly usedBytes: number; readonly message: string };
  /** Of a replica: its newest complete copy. */
  readonly copy?: Copy;
  readonly diverged: readonly KeptDivergence[];
  readonly trouble?: { readonly problem: VolumeProblem; readonly times: number };
}

export const UNKNOWN_VOLUME: VolumeState<never, never> = {
  record: 'unread',
  hold: { kind: 'nothing' },
  diverged: [],
};

export function metadataOf({ record }: VolumeState): VolumeMetadata | undefined {
  return typeof record === 'string' ? undefined : record;
}

export function volumeOf<Volume>({ hold }: VolumeState<Volume>): Volume | undefined {
  return hold.kind === 'mounted' || hold.kind === 'writing' || hold.kind === 'sealed'
    ? hold.volume
    : undefined;
}

export function senderOf<Sender>({ hold }: VolumeState<unknown, Sender>): Sender | undefined {
  return hold.kind === 'writing' || hold.kind === 'sealed' ? hold.sender : undefined;
}
