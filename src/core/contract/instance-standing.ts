/** What lists say of an instance; both as its agent last saw it. */
export interface SeenInstance {
  readonly state?: string | undefined;
  readonly health?: string | undefined;
  readonly nodeStatus?: string | undefined;
}

/** What can be said now: of one whose node does not answer nothing is known, whatever was seen before. */
export function standingOf({ state = '', health, nodeStatus }: SeenInstance): {
  readonly state: string;
  readonly health?: string;
} {
  if (nodeStatus !== undefined) return { state: `unknown (node ${nodeStatus})` };
  return { state, ...(health !== undefined && { health }) };
}
