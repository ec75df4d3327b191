/** The record of a refusal as the wire carries it. */
export interface RejectionBody {
  readonly code: string;
  readonly field: string;
  readonly received: string;
  readonly expected: string;
  readonly why: string;
  readonly doc: string;
}

/** A refusal of the control plane. Branch on `rejection.code`, never on its words. */
export class RejectionError extends Error {
  override readonly name = 'RejectionError';
  readonly status: number;
  readonly rejection: RejectionBody;

  constructor(status: number, rejection: RejectionBody) {
    super(`${rejection.code}: ${rejection.why}`);
    this.status = status;
    this.rejection = rejection;
  }
}

/** The control plane could not be asked, or what answered was not the control plane. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

export function isRejectionBody(value: unknown): value is RejectionBody {
  const record = value as Partial<Record<keyof RejectionBody, unknown>> | null;
  return typeof record === 'object' && typeof record?.code === 'string' && typeof record.field === 'string';
}

export function rejectionOf(error: unknown): RejectionBody | undefined {
  return error instanceof RejectionError ? error.rejection : undefined;
}

/** Steps of a field path: `secrets[0].vault_path` → ["secrets", "0", "vault_path"]. */
export function fieldSteps(field: string): readonly string[] {
  return field
    .replaceAll(/\[([^[\]]*)\]/g, '.$1')
    .split('.')
    .filter((step) => step !== '');
}

/** Whether a rejection of `field` is to be shown at the input for `path`: at it, or somewhere below it. */
export function concerns(path: string, field: string): boolean {
  const wanted = fieldSteps(path);
  const actual = fieldSteps(field);
  return wanted.length <= actual.length && wanted.every((step, at) => step === actual[at]);
}
