import type { ViewChange } from '../store/view.ts';

/** Every heartbeat may be stored; only these two affect what runs on the node. */
export function livenessMoved({ before, after }: ViewChange<'node-liveness'>): boolean {
  const [was, is] = [before?.record, after?.record];
  return was?.status !== is?.status || was?.lost !== is?.lost;
}
