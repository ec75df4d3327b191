/** A change the server made that the client did not send. All strings, as on the wire. */
export interface Alteration {
  readonly field: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** Stored, but the client should know. */
export interface Warning {
  readonly code: string;
  readonly field: string;
  readonly why: string;
}
