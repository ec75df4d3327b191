import { LONG_TIER } from '../fault-tier.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GuideHouse } from './house.ts';
import { mismatch } from './output.ts';
import { type CommandStep, type Page, parsePage } from './page.ts';
import { asWritten, GUIDE, rewrite, SAMPLE } from './rewriting.ts';
import type { PageShell } from './shell.ts';

/** `GUIDE_UPDATE=1` writes what came out into the pages where it is not what they say; look at the difference then. */
const UPDATE = process.env['GUIDE_UPDATE'] === '1';

/** A page is many programs one after another, on machines that have other work as well. */
const PAGE_MS = 300_000;
const totals = { executed: 0, skipped: 0 };

async function execute(
  house: GuideHouse,
  shell: PageShell,
  step: CommandStep,
  path: string,
): Promise<readonly string[]> {
  const text = step.text.replaceAll(SAMPLE, house.sampleImage);
  const { status, output } = await (step.until === undefined
    ? shell.run(text)
    : shell.start(text, step.until));
  house.hear(output);
  const seen = asWritten(house, step, output);
  const place = `${path}:${step.line}: ${step.text}`;
  if (status !== step.status)
    throw new Error(`${place}\nended with ${status}, not ${step.status}:\n${seen.join('\n')}`);
  return seen;
}

async function follow(house: GuideHouse, name: string, page: Page, shell: PageShell): Promise<void> {
  const replaced = new Map<CommandStep, readonly string[]>();
  for (const step of page.steps) {
    if (step.kind === 'skipped') {
      totals.skipped += step.commands;
      process.stdout.write(`guide: ${name}:${step.line} skipped, ${step.reason}\n`);
    } else if (step.kind === 'file') {
      const text = step.text.replaceAll(SAMPLE, house.sampleImage);
      await shell.run(`cat > ${step.name} <<'END_OF_FILE'\n${text}END_OF_FILE`);
    } else {
      const actual = await execute(house, shell, step, name);
      totals.executed += 1;
      const wrong = step.expected === undefined ? undefined : mismatch(step.expected, actual);
      if (wrong === undefined) continue;
      if (UPDATE) replaced.set(step, actual);
      else
        throw new Error(
          `docs/guide/${name}:${step.line}: ${step.text}\nexpected: ${wrong}\nin:\n${actual.join('\n')}`,
        );
    }
  }
  if (replaced.size > 0) rewrite(name, replaced);
}

/** From nothing, with machines of its own: the page starts the control plane itself. */
async function followBare(name: string, page: Page): Promise<void> {
  const house = new GuideHouse();
  try {
    await house.prepare();
    await house.needMachines(page.machines);
    const shell = house.bareShell();
    try {
      await follow(house, name, page, shell);
    } finally {
      await shell.end();
    }
  } finally {
    await house.stop();
  }
}

/**
 * Pages that are followed in a file of their own, beside the others: all of them one after another took longer than any other file. They are those
 * that need images of programs, and what has machines of its own. The rest has every other page, a new one too.
 */
const BESIDE: readonly string[] = ['first-ten-minutes.md'];
/**
 * In the long tier: what they say is done in every run by `rotation-postgres`, `cluster-secrets`, `recovery`, `cli`, `cli-jobs`, `cli-volumes`, `doctor`, `rollout-reasons`, `cluster-scaling` and
 * `terminal` of `test/system`, `test/suites/recovery-etcd`, `test/flow/apply-folder` and `test/flow/plan`, and for containers by `test/security/confinement` and
 * `test/system/engine`. That there are such commands and flags is looked at in every run (`commands.test.ts`).
 */
const LONG_PAGES: readonly string[] = [
  'backups.md',
  'canary.md',
  'containers.md',
  'failed-rollouts.md',
  'inside-an-instance.md',
  'jobs.md',
  'lost-token.md',
  'moving-to-etcd.md',
  'one-folder.md',
  'planning.md',
  'recovery.md',
  'rotate-postgresql.md',
  'scaling.md',
  'secrets.md',
  'troubleshooting.md',
  'volumes.md',
];

type Part = 'beside' | 'rest';

function pagesOf(part: Part): readonly string[] {
  if (part === 'beside') return LONG_TIER ? [...BESIDE, ...LONG_PAGES] : BESIDE;
  const elsewhere = new Set([...BESIDE, ...LONG_PAGES]);
  return readdirSync(GUIDE).filter((name) => name.endsWith('.md') && !elsewhere.has(name));
}

export function followPages(part: Part): void {
  let house: GuideHouse;
  /** What a page that failed left behind is nobody's: its next try, and the next page, get a machine and a control plane of their own. */
  let littered = false;

  const begin = async (): Promise<void> => {
    house = new GuideHouse();
    await house.start();
  };
  beforeAll(begin);

  beforeEach(async () => {
    if (!littered) return;
    await house.stop();
    await begin();
    littered = false;
  });

  afterAll(async () => {
    process.stdout.write(`guide: ${totals.executed} commands executed, ${totals.skipped} skipped\n`);
    await house.stop();
  });

  describe('every command of the guide', () => {
    it.each(pagesOf(part))(
      '%s',
      async (name) => {
        const page = parsePage(name, readFileSync(join(GUIDE, name), 'utf8'));
        if (page.machines.length > 0) return followBare(name, page);
        await house.needEngines(page.engines);
        await house.needImages(page.images);
        const shell = house.shell();
        littered = true;
        try {
          await follow(house, name, page, shell);
        } finally {
          await shell.end();
        }
        if (page.steps.some(({ kind }) => kind === 'command')) await house.tidy();
        littered = false;
        // A page about commands that runs none of them would say nothing.
        expect(page.steps.length === 0 || page.steps.some(({ kind }) => kind !== 'file')).toBe(true);
      },
      PAGE_MS,
    );
  });
}
