const BARS = [...'▁▂▃▄▅▆▇█'];
/** Of a time of which nothing is known. */
const GAP = '·';

/** Figures from 0 to the highest of them, a character each. */
export function sparkline(figures: readonly (number | null)[]): string {
  const highest = Math.max(0, ...figures.map((one) => one ?? 0));
  return figures
    .map((one) => {
      if (one === null) return GAP;
      const share = highest === 0 ? 0 : one / highest;
      return BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))];
    })
    .join('');
}
