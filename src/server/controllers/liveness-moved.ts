import type { NodeLiveness } from '../../core/model/node.ts';
import type { ViewChange } from '../store/view.ts';

/** Every beat may be stored; only these two move anything that runs on the node. */
export function livenessMoved({ before, after }: ViewChange): boolean {
  const was = before?.record as NodeLiveness | undefined;
  const is = after?.record as NodeLiveness | undefined;
  return was?.status !== is?.status || was?.lost !== is?.lost;
}
