import type { ControllerDeps } from './controller.ts';
import { KeyedQueue } from './queue.ts';

/** The queue of a controller that looks at one record per key; a fault is counted, told and tried again. */
export function lookQueue(
  { timers, clock, metrics, log }: ControllerDeps,
  controller: {
    readonly name: string;
    readonly what: string;
    readonly concurrency?: number;
    readonly isHeavy?: (key: string) => boolean;
  },
  work: (key: string) => Promise<void>,
): KeyedQueue {
  const { name, what, concurrency, isHeavy } = controller;
  return new KeyedQueue(
    {
      work,
      onFault: (key, fault) => {
        metrics.committed(name, 'fault');
        log(`${what} could not be looked at; trying again`, { key, fault: String(fault) });
      },
      timers,
      ...(concurrency !== undefined && { concurrency }),
      ...(isHeavy && { isHeavy }),
    },
    () => clock.monotonicMs(),
  );
}
