const FAILURE =
  /failed|failing|unschedulable|unhealthy|unresolved|lost|refused|conflict|diverged|rolled_back/;

/** Whether an event of this kind tells of something that went wrong. */
export function isFailure(kind: string): boolean {
  return FAILURE.test(kind);
}
