import { nodeLabelIn } from '../core/model/labels.ts';
import { usage } from './failure.ts';
import type { OptionValues } from './option-values.ts';

/** Of a node: its agent refuses an odd one only when everything before it is done. */
export function nodeLabels(options: OptionValues, { mayTakeAway = false } = {}): readonly string[] {
  const labels = options.list('label');
  // `--label=` alone: the agent forgets those it keeps.
  if (mayTakeAway && labels.join('') === '') return labels;
  const odd = labels.find((label) => nodeLabelIn(label) === undefined);
  if (odd !== undefined) throw usage(`--label ${odd}: expected key=value, e.g. disk=ssd`);
  return labels;
}
