import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One check of Schemathesis that failed, with the rejection that it saw. */
export interface Failure {
  readonly operation: string;
  readonly check: string;
  readonly code: string;
  readonly field: string;
  readonly why: string;
}

interface Check {
  readonly name: string;
  readonly status: string;
  readonly failure_info?: { readonly failure: { readonly operation: string } };
}

interface Recorded {
  readonly checks?: Readonly<Record<string, readonly Check[]>>;
  readonly interactions?: Readonly<Record<string, Interaction>>;
}

interface Interaction {
  readonly response?: {
    readonly status_code: number;
    readonly content?: { readonly $base64: string };
  } | null;
}

function rejectionOf(interaction: Interaction | undefined): Pick<Failure, 'code' | 'field' | 'why'> {
  const content = interaction?.response?.content?.$base64 ?? '';
  try {
    const answer: unknown = JSON.parse(Buffer.from(content, 'base64').toString());
    const { code = '', field = '', why = '', rejections } = answer as Readonly<Record<string, string>>;
    // Of a document that was only tried: that something in it is refused is the answer.
    return Array.isArray(rejections)
      ? { code: 'tried', field: rejections.length > 0 ? 'rejections' : 'none', why }
      : { code, field, why };
  } catch {
    return { code: '', field: '', why: '' };
  }
}

/** Every failure of a run, and how many answers of each hundred it saw. */
export function readReport(folder: string) {
  const report = readdirSync(folder).find((name) => name.endsWith('.ndjson')) ?? '';
  const scenarios = readFileSync(join(folder, report), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{"ScenarioFinished"'))
    .map((line) => JSON.parse(line) as { readonly ScenarioFinished: { readonly recorder: Recorded } })
    .map(({ ScenarioFinished }) => ScenarioFinished.recorder);
  const statuses = new Map<number, number>();
  const failures: Failure[] = [];
  for (const { checks = {}, interactions = {} } of scenarios) {
    for (const { response } of Object.values(interactions)) {
      const hundred = Math.floor((response?.status_code ?? 0) / 100);
      statuses.set(hundred, (statuses.get(hundred) ?? 0) + 1);
    }
    for (const [id, made] of Object.entries(checks))
      for (const { name, status, failure_info } of made)
        if (status === 'failure')
          failures.push({
            operation: failure_info?.failure.operation ?? '',
            check: name,
            ...rejectionOf(interactions[id]),
          });
  }
  return { statuses, failures };
}

export type Row = Pick<Failure, 'check' | 'code' | 'field'>;

/** The rows of the page: check, code, field (`*` stands for anything), why; and the first that explains a failure. */
export function explainedIn(page: string) {
  const rows: readonly Row[] = [
    ...readFileSync(page, 'utf8').matchAll(/^\| `(\w+)` \| `(\w+)` \| `([^`]+)` \|/gm),
  ].map(([, check = '', code = '', field = '']) => ({ check, code, field }));
  const rowOf = (failure: Failure): Row | undefined =>
    rows.find(
      ({ check, code, field }) =>
        check === failure.check && code === failure.code && isLike(failure.field, field.split('*')),
    );
  return { rows, rowOf };
}

function isLike(text: string, [first = '', ...rest]: readonly string[]): boolean {
  const last = rest.at(-1);
  if (last === undefined) return text === first;
  return text.startsWith(first) && text.endsWith(last);
}
