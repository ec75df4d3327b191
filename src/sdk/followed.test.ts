import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { STOPPING } from '../core/contract/log-end.ts';
import { type Frame, followedPastStops, RejectionError, UnreachableError } from './index.ts';

const STOP: Frame = { event: 'end', data: JSON.stringify(STOPPING) };
const line = (instance = 'a'): Frame => ({ event: 'log', data: JSON.stringify({ instance, line: 'x' }) });
const problem = (instance = 'a'): Frame => ({ event: 'problem', data: JSON.stringify({ instance }) });

beforeEach(() => {
  vi.useFakeTimers();
  // Pauses are 500 ms, 1 s, 2 s and so on.
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Milliseconds until something comes, a message, or why there is none. */
type Step = number | Frame | Error;

const passing = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function* answered(steps: readonly Step[]): AsyncGenerator<Frame> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    if (typeof step === 'number') await passing(step);
    else yield step;
  }
}

/** What it asks for, and what it passes on; after the answers the log is over. */
async function followed(
  answers: readonly (readonly Step[])[],
  use: (frame: Frame) => unknown = () => undefined,
) {
  const left = [...answers];
  const asked: (string | undefined)[] = [];
  const askedMs: number[] = [];
  const told: string[] = [];
  const open = (since: string | undefined): AsyncIterable<Frame> => {
    asked.push(since);
    askedMs.push(performance.now());
    return answered(left.shift() ?? []);
  };
  const reading = async (): Promise<unknown> => {
    try {
      for await (const frame of followedPastStops(open)) {
        told.push(frame.event);
        await use(frame);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  };
  const over = reading();
  await vi.runAllTimersAsync();
  return { asked, askedMs, told, error: await over };
}

describe('a log that is followed past stops', () => {
  it('is asked for as at first until something of it was read', async () => {
    const { asked, told } = await followed([[STOP], [problem(), STOP], [line(), STOP]]);
    expect(asked).toEqual([undefined, undefined, undefined, '3s']);
    expect(told).toEqual(['end', 'problem', 'log', 'end']);
    expect((await followed([[problem(), 10_000, STOP]])).asked).toEqual([undefined, undefined]);
  });

  it('was read, too, where nothing was printed for a while', async () => {
    expect((await followed([[3000, STOP]])).asked).toEqual([undefined, '3s']);
  });

  it('tells a stop once while it lasts, and asks less and less often', async () => {
    const { askedMs, asked, told } = await followed([[line(), STOP], [STOP], [STOP], [line(), STOP]]);
    expect(askedMs.map((at, index) => at - (askedMs[index - 1] ?? at))).toEqual([0, 500, 1000, 2000, 500]);
    expect(asked).toEqual([undefined, '3s', '4s', '6s', '3s']);
    expect(told).toEqual(['log', 'end', 'log', 'end']);
  });

  it('goes on where its reader was when that held it up, and not where the stop was read', async () => {
    let hasHeld = false;
    const holding = async ({ event }: Frame): Promise<void> => {
      if (event !== 'log' || hasHeld) return;
      hasHeld = true;
      await passing(10_000);
    };
    expect((await followed([[line(), line(), STOP]], holding)).asked[1]).toBe('13s');
    hasHeld = false;
    expect((await followed([[line(), line(), 1000, line(), STOP]], holding)).asked[1]).toBe('3s');
    const ending = ({ event }: Frame): unknown => event === 'end' && passing(10_000);
    expect((await followed([[line(), STOP]], ending)).asked[1]).toBe('13s');
  });

  it('is asked for from the stop before where an instance was not read since', async () => {
    const first = [line('a'), line('b'), STOP];
    const again = async (...steps: readonly Step[]) => (await followed([first, [...steps, STOP]])).asked[2];
    expect(await again(problem('b'), line('a'), 4000, line('a'))).toBe('7s');
    expect(await again(problem('b'), line('a'), 4000, line('b'))).toBe('3s');
    expect(await again(4000, line('a'), problem('b'), 1000, line('a'))).toBe('4s');
    // An instance that prints nothing does not have those of a day printed again.
    expect(await again(problem('b'), line('a'), 24 * 3_600_000, line('a'))).toBe('3s');
  });

  it('does not depend on a clock that is set, nor on one that stands while the machine sleeps', async () => {
    const moved = (ms: number) =>
      followed([[line(), STOP]], ({ event }) => {
        if (event === 'end') vi.setSystemTime(Date.now() + ms);
      });
    expect((await moved(-3_600_000)).asked[1]).toBe('3s');
    expect((await moved(3_600_000)).asked[1]).toBe('3603s');
  });

  it('waits for a control plane behind a proxy, and not for something else', async () => {
    const status = (code: number) => new UnreachableError('not ours', { status: code });
    const refused = (code: number) =>
      new RejectionError(code, {
        code: 'deployment_not_found',
        field: '',
        received: '',
        expected: '',
        why: '',
        doc: '',
      });
    const away = [status(502), new UnreachableError('nobody'), refused(503), refused(429)];
    const waited = await followed([[line(), STOP], ...away.map((one) => [one]), [line()]]);
    expect([waited.error, waited.asked.length, waited.told]).toEqual([undefined, 6, ['log', 'end', 'log']]);
    for (const other of [status(404), refused(404), new Error('a mistake')]) {
      const ended = await followed([[line(), STOP], [other]]);
      expect([ended.error, ended.asked.length]).toEqual([other, 2]);
    }
    const neverThere = status(502);
    expect((await followed([[neverThere]])).error).toBe(neverThere);
    const cut = new UnreachableError('cut');
    expect(
      (
        await followed([
          [line(), STOP],
          [line(), cut],
        ])
      ).error,
    ).toBe(cut);
  });
});
