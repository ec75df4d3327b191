import type { RejectionRecord } from '../sdk/index.ts';
import type { Style } from './style.ts';

/** All six fields: the reader fixes the named field and sends again. */
export function rejectionLines(rejection: RejectionRecord, style: Style, source = ''): readonly string[] {
  const row = (label: string, value: string): string[] =>
    value === '' ? [] : [`  ${style.dim(label.padEnd(9))} ${value}`];
  return [
    `${style.red('refused:')} ${style.link(style.bold(rejection.code), rejection.doc)}`,
    ...row('in', source),
    ...row('field', rejection.field),
    ...row('received', rejection.received),
    ...row('expected', rejection.expected),
    ...row('why', rejection.why),
    ...row('doc', rejection.doc),
    `  ${style.dim(`more: berth explain ${rejection.code}`)}`,
  ];
}
