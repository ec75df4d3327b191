/** What the user asks for. */
export interface Wish {
  readonly name: string | undefined;
  readonly labels: readonly string[];
  readonly engine: string | undefined;
  /** By which nodes reach the control plane; absent: as it says itself. */
  readonly server: string | undefined;
  readonly replace: boolean;
  readonly dryRun: boolean;
  readonly timeoutMs: number;
}
