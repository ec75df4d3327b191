import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GuideHouse } from '../test/support/guide/house.ts';
import { ROOT } from './run.ts';
import { buildParts } from './terminal/built-parts.ts';
import { type ShownLine, terminalPicture } from './terminal/picture.ts';
import { type Recorded, Screen } from './terminal/screen.ts';

/** `npm run record`: the first minute with Berth, typed into a real terminal, as the picture of the README. */
const PICTURE = join(ROOT, 'docs/guide/images/terminal.svg');
/** Wide enough that nothing is wrapped: paths of this machine are written shorter afterwards. */
const COLUMNS = 140;
const ROWS = 60;
const START = 'berth up --quickstart';
const NEXT = ['berth get deployments', 'berth logs hello --tail 2', 'berth scale wbe 3'];
/** Nobody watches a picture wait. */
const LONGEST_WAIT_MS = 1500;
const BETWEEN_MS = 1200;

const house = new GuideHouse();
const screen = new Screen(COLUMNS, ROWS);
const shown: ShownLine[] = [];
let atMs = 0;

function show(lines: readonly Recorded[]): void {
  let beforeMs = 0;
  for (const { spans, atMs: cameMs } of lines) {
    atMs += Math.min(Math.max(cameMs - beforeMs, 0), LONGEST_WAIT_MS);
    beforeMs = Math.max(beforeMs, cameMs);
    const texts = spans.map(({ text, look }) => ({
      text: text.replaceAll(house.socketPath, '/var/run/docker.sock').replaceAll(house.home, '~'),
      look,
    }));
    shown.push({ spans: texts, atMs });
  }
  atMs += BETWEEN_MS;
}

buildParts();
await house.prepare();
try {
  await screen.open(house);
  show(await screen.record(START, '--clean removes it.'));
  await screen.another();
  for (const command of NEXT) {
    shown.push({ spans: [], atMs });
    // The prompt that waits for the next one is not part of it.
    show((await screen.record(command, '\n$')).slice(0, -1));
  }
  await screen.stop();
  const picture = terminalPicture('A first minute with Berth in a terminal', shown);
  writeFileSync(PICTURE, picture);
  process.stdout.write(`${PICTURE}: ${shown.length} lines, ${picture.length} bytes\n`);
} finally {
  screen.close();
  await house.stop();
}
