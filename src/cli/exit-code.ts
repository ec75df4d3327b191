/** What a script can branch on; printed on every help page. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  notHealthy: 4,
  wouldChange: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.ok, 'done'],
  [
    EXIT.refused,
    'refused by the control plane, or failed on this machine; nothing was changed by the refused request',
  ],
  [EXIT.usage, 'wrong usage, or an answer was needed and nobody could be asked'],
  [EXIT.unreachable, 'the control plane could not be reached'],
  [EXIT.notHealthy, 'stored, but not healthy in time'],
  [EXIT.wouldChange, 'of a plan of records (--dry-run, diff): something would change; 0: nothing would'],
  [EXIT.interrupted, 'interrupted with Ctrl-C'],
];
