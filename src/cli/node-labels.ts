import { nodeLabelIn } from '../core/model/labels.ts';
import { usage } from './failure.ts';
import type { OptionValues } from './option-values.ts';

/** Of a node: its agent refuses an odd one only when everything before it is done. */
export function nodeLabels(options: OptionValues): readonly string[] {
  const labels = options.list('label');
  const odd = labels.find((label) => nodeLabelIn(label) === undefined);
  if (odd !== undefined) throw usage(`--label ${odd}: expected key=value, e.g. disk=ssd`);
  return labels;
}
