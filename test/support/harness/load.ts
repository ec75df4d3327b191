/**
 * Requests without a pause, and what became of them. One that fails is told with when it was, so that a test can say how long
 * something was away.
 */
export interface Load {
  readonly answered: number;
  readonly failures: readonly { readonly beganMs: number; readonly problem: string }[];
  /** Of all answers: their text, and how often. */
  readonly texts: ReadonlyMap<string, number>;
}

const DEADLINE_MS = 15_000;

export async function underLoad(
  url: string,
  work: () => Promise<void>,
  { clients = 6 }: { readonly clients?: number } = {},
): Promise<Load> {
  const failures: { beganMs: number; problem: string }[] = [];
  const texts = new Map<string, number>();
  const began = performance.now();
  let over = false;
  const client = async (): Promise<void> => {
    while (!over) {
      const beganMs = performance.now() - began;
      const text = await textOf(url).catch((error: unknown) => {
        failures.push({ beganMs, problem: String(error) });
      });
      if (text !== undefined) texts.set(text, (texts.get(text) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const clientsRun = Array.from({ length: clients }, client);
  try {
    await work();
  } finally {
    over = true;
    await Promise.all(clientsRun);
  }
  return { answered: [...texts.values()].reduce((sum, count) => sum + count, 0), failures, texts };
}

export async function textOf(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) });
  const text = (await answer.text()).trim();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text.slice(0, 100)}`);
  return text;
}
