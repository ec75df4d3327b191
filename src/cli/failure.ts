import type { ExitCode } from './exit-code.ts';
import { EXIT } from './exit-code.ts';
import type { RejectionRecord } from '../sdk/index.ts';

/** Ends the command with a message for the user; never a stack trace. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;
  /** Lines under the message: what to check or to type next. */
  readonly advice: readonly string[];

  constructor(
    message: string,
    options: {
      readonly exitCode?: ExitCode;
      readonly advice?: readonly string[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT.refused;
    this.advice = options.advice ?? [];
  }
}

/** No record of this name; one may be made. */
export class NotThere extends Failure {}

export function usage(message: string, advice: readonly string[] = []): Failure {
  return new Failure(message, { exitCode: EXIT.usage, advice });
}

/** The control plane said no; main shows the record. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly rejection: RejectionRecord;
  readonly status: number;
  /** The document that was refused, where there may be several. */
  readonly source: string | undefined;
  /** What else is wrong in the document. */
  readonly others: readonly RejectionRecord[];

  constructor(
    rejection: RejectionRecord,
    status: number,
    source?: string,
    others: readonly RejectionRecord[] = [],
  ) {
    super(rejection.code);
    this.rejection = rejection;
    this.status = status;
    this.source = source;
    this.others = others;
  }

  in(source: string): Refused {
    return new Refused(this.rejection, this.status, source, this.others);
  }

  among(all: readonly RejectionRecord[]): Refused {
    const others = all.filter(({ field }) => field !== this.rejection.field);
    return new Refused(this.rejection, this.status, this.source, others);
  }
}
