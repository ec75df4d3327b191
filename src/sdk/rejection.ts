import type { RejectionCode } from '../core/rejections/catalogue.ts';

/** What a control plane says when it refuses. A newer one may know codes that this client does not. */
export interface RejectionRecord {
  readonly code: RejectionCode;
  readonly field: string;
  readonly received: string;
  readonly expected: string;
  readonly why: string;
  readonly doc: string;
}

const FIELDS = ['code', 'field', 'received', 'expected', 'why', 'doc'] as const;

function isRejectionRecord(body: unknown): body is RejectionRecord {
  if (typeof body !== 'object' || body === null) return false;
  const record: Partial<Record<(typeof FIELDS)[number], unknown>> = body;
  return FIELDS.every((field) => typeof record[field] === 'string');
}

/** Its six fields and nothing else; undefined: something else than a control plane refused. */
export function readRejection(body: unknown): RejectionRecord | undefined {
  if (!isRejectionRecord(body)) return undefined;
  const { code, field, received, expected, why, doc } = body;
  return { code, field, received, expected, why, doc };
}

/** A refusal of the control plane. Branch on `code`, never on the text. */
export class RejectionError extends Error implements RejectionRecord {
  override readonly name = 'RejectionError';
  readonly status: number;
  readonly rejection: RejectionRecord;
  /** When to come back, where the control plane said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, rejection: RejectionRecord, retryAfterSeconds?: number) {
    super(`${rejection.code}: ${rejection.why}`);
    this.status = status;
    this.rejection = rejection;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get code(): RejectionCode {
    return this.rejection.code;
  }

  get field(): string {
    return this.rejection.field;
  }

  get received(): string {
    return this.rejection.received;
  }

  get expected(): string {
    return this.rejection.expected;
  }

  get why(): string {
    return this.rejection.why;
  }

  get doc(): string {
    return this.rejection.doc;
  }
}

export function rejectionOf(error: unknown): RejectionRecord | undefined {
  return error instanceof RejectionError ? error.rejection : undefined;
}

/** The control plane could not be asked, or what answered was not the control plane. The request may have arrived. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** Of an answer that was none of a control plane. */
  readonly status: number | undefined;
  /** How that answer began. */
  readonly said: string | undefined;

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly status?: number; readonly said?: string } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.said = options.said;
  }
}
