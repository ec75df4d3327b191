import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { balanced, type Cost } from './balanced.ts';
import { LONG, SYSTEM_COSTS } from './file-costs.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
/** As `vitest.config.ts` has it, on the machines that CI has. */
const MACHINE = { slots: 5, cores: 2 };
const SHORT: Cost = { seconds: 6, ofProcessor: 3 };

const nameOf = ({ moduleId }: TestSpecification): string => relative(ROOT, moduleId);

function costOf(file: TestSpecification): Cost {
  const [seconds, ofProcessor] = SYSTEM_COSTS[nameOf(file)] ?? [SHORT.seconds, SHORT.ofProcessor];
  return { seconds, ofProcessor };
}

function longestFirst(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const rank = (file: TestSpecification): number => {
    const at = LONG.indexOf(nameOf(file));
    return at === -1 ? LONG.length : at;
  };
  return files.toSorted((one, other) => rank(one) - rank(other));
}

/**
 * `system` as it keeps the cores busy and no busier, the others longest first. Those that share processes come last and together: a process is kept
 * for the next file only while that is one of them too.
 */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const inSystem = (file: TestSpecification): boolean => file.project.name === 'system';
    const others = longestFirst(sorted.filter((file) => !inSystem(file)));
    return [
      ...others.filter(({ project }) => project.config.isolate),
      ...balanced(sorted.filter(inSystem), costOf, MACHINE),
      ...others.filter(({ project }) => !project.config.isolate),
    ];
  }
}
