import { describe, expect, it } from 'vitest';
import type { InstanceId, NodeName } from './ids.ts';
import { activeRun, type JobRun, type JobRunState, runOf, type StoredRun } from './job-run.ts';

const RUN = { id: 'run_1', trigger: 'manual', message: '', createdAt: 't0', attempts: 1 } as const;
const ATTEMPT = { instanceId: 'ins_1' as InstanceId, nodeId: 'n1' as NodeName } as const;
const STARTING = { ...ATTEMPT, started: false } as const;
const STARTED = { ...ATTEMPT, started: true } as const;

describe('a stored run', () => {
  it.each<[string, StoredRun]>([
    ['that waits for a node', { ...RUN, state: 'Pending', attempts: 0 }],
    ['that starts', { ...RUN, state: 'Pending', attempt: STARTING }],
    ['that starts again', { ...RUN, state: 'Pending', attempt: STARTING, startedAt: 't1', exitCode: 3 }],
    ['that runs', { ...RUN, state: 'Running', attempt: STARTED, startedAt: 't1', skipped: 2 }],
    ['that is tried again', { ...RUN, state: 'Retrying', retryAt: 't2', reason: 'exit_code' }],
    [
      'that has ended',
      { ...RUN, state: 'Succeeded', attempt: STARTED, startedAt: 't1', finishedAt: 't2', exitCode: 0 },
    ],
    ['that could not start', { ...RUN, state: 'Failed', attempt: STARTING, finishedAt: 't2', reason: 'x' }],
    ['that was cancelled between attempts', { ...RUN, state: 'Cancelled', finishedAt: 't2' }],
  ])('%s is read and stored as it was', (_what, stored) => {
    expect(runOf(stored)).toEqual(stored);
  });

  it.each<[string, StoredRun, Partial<JobRun>]>([
    ['runs without an attempt waits for one', { ...RUN, state: 'Running' }, { state: 'Pending' }],
    [
      'runs before it was seen to is starting',
      { ...RUN, state: 'Running', attempt: STARTING },
      { state: 'Pending' },
    ],
    [
      'was seen to run, by its attempt alone, runs',
      { ...RUN, state: 'Pending', attempt: STARTED },
      { state: 'Running', startedAt: 't0' },
    ],
    ['is to be tried again at no time waits for a node', { ...RUN, state: 'Retrying' }, { state: 'Pending' }],
    ['waits until a time is tried again', { ...RUN, state: 'Pending', retryAt: 't2' }, { state: 'Retrying' }],
    [
      'is tried again beside an attempt follows that one',
      { ...RUN, state: 'Retrying', retryAt: 't2', attempt: STARTED },
      { state: 'Running', attempt: STARTED },
    ],
    [
      'ended at no time ended when it was last heard of',
      { ...RUN, state: 'Failed', startedAt: 't1' },
      { state: 'Failed', finishedAt: 't1' },
    ],
    [
      'ended and is to be tried again has ended',
      { ...RUN, state: 'Failed', retryAt: 't2', finishedAt: 't1' },
      { state: 'Failed', finishedAt: 't1' },
    ],
  ])('that says that it %s', (_what, stored, expected) => {
    const run = runOf(stored);
    expect(run).toMatchObject(expected);
    expect(runOf(run)).toEqual(run);
    const states: readonly JobRunState[] = ['Succeeded', 'Failed', 'Cancelled'];
    expect(activeRun({ runs: [run] }) === undefined).toBe(states.includes(stored.state));
  });
});

it('a run that cannot be is not written', () => {
  const runs: JobRun[] = [];
  // @ts-expect-error a run that runs has an attempt
  runs.push({ ...RUN, state: 'Running', startedAt: 't1' });
  // @ts-expect-error which was seen to run
  runs.push({ ...RUN, state: 'Running', startedAt: 't1', attempt: STARTING });
  // @ts-expect-error and since when is known
  runs.push({ ...RUN, state: 'Running', attempt: STARTED });
  // @ts-expect-error a run whose attempt was seen to run is not pending
  runs.push({ ...RUN, state: 'Pending', attempt: STARTED });
  // @ts-expect-error nor does it wait for a time
  runs.push({ ...RUN, state: 'Pending', retryAt: 't2' });
  // @ts-expect-error what is tried again says when
  runs.push({ ...RUN, state: 'Retrying' });
  // @ts-expect-error and has no attempt until then
  runs.push({ ...RUN, state: 'Retrying', retryAt: 't2', attempt: STARTING });
  // @ts-expect-error an end has a time
  runs.push({ ...RUN, state: 'Failed' });
  // @ts-expect-error after which nothing is tried again
  runs.push({ ...RUN, state: 'Cancelled', finishedAt: 't2', retryAt: 't3' });
  // @ts-expect-error what goes on has not ended
  runs.push({ ...RUN, state: 'Running', startedAt: 't1', attempt: STARTED, finishedAt: 't2' });
  expect(runs).toHaveLength(10);
});
