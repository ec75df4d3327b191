/** How long a run took, or has taken so far. */
export function runTime(startedAt: string | undefined, endedAt: string | undefined, nowMs: number): string {
  if (startedAt === undefined) return 'not started';
  const end = endedAt === undefined ? nowMs : Date.parse(endedAt);
  const seconds = Math.max(0, (end - Date.parse(startedAt)) / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
