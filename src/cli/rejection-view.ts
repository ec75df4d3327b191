import type { Style } from './style.ts';

/** The rejection record as it comes over the wire. */
export interface RejectionView {
  readonly code: string;
  readonly field: string;
  readonly received: string;
  readonly expected: string;
  readonly why: string;
  readonly doc: string;
}

const FIELDS = ['code', 'field', 'received', 'expected', 'why', 'doc'] as const;

export function readRejection(body: unknown): RejectionView | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const record = body as Readonly<Record<string, unknown>>;
  if (!FIELDS.every((field) => typeof record[field] === 'string')) return undefined;
  return Object.fromEntries(FIELDS.map((field) => [field, record[field]])) as unknown as RejectionView;
}

/** All six fields: the reader fixes the named field and sends again. */
export function rejectionLines(rejection: RejectionView, style: Style, source = ''): readonly string[] {
  const row = (label: string, value: string): string[] =>
    value === '' ? [] : [`  ${style.dim(label.padEnd(9))} ${value}`];
  return [
    `${style.red('refused:')} ${style.bold(rejection.code)}`,
    ...row('in', source),
    ...row('field', rejection.field),
    ...row('received', rejection.received),
    ...row('expected', rejection.expected),
    ...row('why', rejection.why),
    ...row('doc', rejection.doc),
    `  ${style.dim(`more: berth explain ${rejection.code}`)}`,
  ];
}
