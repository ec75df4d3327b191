interface Choosable {
  /** Of connections; absent: 1. */
  readonly share?: number;
}

const shareOf = ({ share = 1 }: Choosable): number => share;

/** Those that get any. */
export function withShare<T extends Choosable>(all: readonly T[]): readonly T[] {
  return all.filter((one) => shareOf(one) > 0);
}

/** In the words of nftables: one of them by chance, each as often as its share says. */
export function choiceOf<T extends Choosable>(all: readonly T[], textOf: (one: T) => string): string {
  const [first, ...more] = withShare(all);
  if (first === undefined) return '';
  if (more.length === 0) return textOf(first);
  let total = 0;
  const choices = [first, ...more].map((one) => {
    const from = total;
    total += shareOf(one);
    return `${total - from === 1 ? from : `${from}-${total - 1}`} : ${textOf(one)}`;
  });
  return `numgen random mod ${total} map { ${choices.join(', ')} }`;
}
