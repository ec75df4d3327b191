import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GuideHouse } from '../test/support/guide/house.ts';
import { type CommandStep, parsePage } from '../test/support/guide/page.ts';
import { asWritten, GUIDE, rewrite, SAMPLE } from '../test/support/guide/rewriting.ts';
import { ROOT } from './run.ts';
import { buildParts } from './terminal/built-parts.ts';
import { Screen, type Typed } from './terminal/screen.ts';

const PAGE = join(ROOT, 'docs/guide/terminal.md');
const COLUMNS = 110;
const ROWS = 60;

interface Shot extends Typed {
  readonly title?: string;
  readonly words?: string;
  /** Not shown: prepares for the next. */
  readonly hidden?: true;
}

const HEALTH =
  'healthCheck: { type: exec, command: ["wget -qO /dev/null http://127.0.0.1:8080/"], interval: 1s }';

function shots(image: string): readonly Shot[] {
  const file = (name: string, text: string): string =>
    `printf '%s\\n' ${text
      .split('\n')
      .map((line) => `'${line}'`)
      .join(' ')} > ${name}`;
  const web = (level: string): string =>
    file(
      'web.yaml',
      `name: web\nimage: ${image}\nreplicas: 2\nenvironment: { LOG_LEVEL: ${level}, REGION: eu }\n${HEALTH}`,
    );
  return [
    { title: 'An overview', command: 'berth' },
    { title: 'Deploying', command: web('info'), hidden: true },
    { command: 'berth apply -f web.yaml' },
    { command: web('debug'), hidden: true },
    { words: 'A change, field by field:', command: 'berth apply -f web.yaml' },
    { command: 'sed -i "s/, REGION: eu//" web.yaml', hidden: true },
    {
      words: 'Taking something away asks first:',
      command: 'berth apply -f web.yaml',
      answer: ['[y/N]', 'n'],
    },
    { title: 'Looking', command: 'berth get deployments' },
    { command: 'berth get nodes -o wide' },
    { command: 'berth get instances' },
    { command: 'berth describe deployment web' },
    { command: 'berth explain web' },
    { command: 'berth logs web --tail 3' },
    { command: 'berth exec web -- env' },
    { command: 'berth events --subject deployment/web' },
    { title: 'History', command: 'berth rollout history web' },
    { command: 'berth archive diff web 1 2' },
    { command: 'berth rollout undo web' },
    { command: 'berth backup create web' },
    {
      title: 'Canaries',
      command: file('canary.yaml', 'name: web\nenvironment: { LOG_LEVEL: trace }'),
      hidden: true,
    },
    { command: 'berth canary start web -f canary.yaml' },
    { command: 'berth canary status web' },
    { command: 'berth get instances web' },
    { command: 'berth canary promote web' },
    { title: 'Scaling', command: 'berth scale web 3' },
    { command: 'berth scaling set web --min 2 --max 6 --cpu 70' },
    { command: 'berth scaling get web' },
    { command: 'berth scaling delete web -y' },
    {
      title: 'Jobs',
      command: file(
        'report.yaml',
        `kind: Job\nname: report\nimage: ${image}\ncommand: [sh, -c, echo report made]\nschedule: 0 3 * * *`,
      ),
      hidden: true,
    },
    { command: 'berth apply -f report.yaml' },
    { command: 'berth job run report' },
    { command: 'berth job logs report' },
    { command: 'berth get jobs' },
    { command: 'berth describe job report' },
    {
      title: 'Secrets',
      command: 'berth secret write deployments/web --key password',
      answer: ['password:', 'not-shown-while-typed'],
    },
    { command: 'berth secret show deployments/web' },
    { title: 'The platform', command: 'berth tenant create acme' },
    { command: 'berth tenant quota acme --containers 50 --memory 64Gi' },
    { command: 'berth tenant list' },
    { command: 'berth token list' },
    { command: 'berth network create backend' },
    { command: 'berth context list' },
    { title: 'When it says no', command: 'berth run nginx' },
    { command: 'berth scale wbe 3' },
    {
      words: 'No node takes it, and waiting would not help:',
      command: `berth run ${image} --name second -p 8080:8080`,
    },
    { words: 'Deleting asks first:', command: 'berth delete deployment web', answer: ['[y/N]', 'n'] },
    { command: 'berth delete web' },
    { command: 'berth get deploymnets' },
    { command: 'berth explain secret_path_shape' },
    { command: 'BERTH_CLI_SERVER=http://127.0.0.1:7999 BERTH_CLI_TOKEN=x berth get nodes' },
    { title: 'What is wrong?', command: 'berth doctor' },
    { title: 'Help', command: 'berth scale --help' },
  ];
}

const HEAD = `# What a terminal shows

Commands, each typed into a real terminal of ${COLUMNS} columns on a machine called \`vm\`, and what stood there afterwards. Made by
\`npm run capture\`. Colours are left out; nothing is said by colour alone.
`;

function block(house: GuideHouse, text: string): string {
  const shown = text.replaceAll(house.socketPath, '/var/run/docker.sock').replaceAll(house.home, '~');
  return `\`\`\`text\n${shown
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n\`\`\`\n`;
}

/** `npm run capture`: the commands of `terminal.md`, and what they show. */
async function captureCommands(): Promise<void> {
  const house = new GuideHouse();
  const screen = new Screen(COLUMNS, ROWS);
  await house.prepare();
  try {
    await screen.open(house);
    const up = await screen.start('berth up --quickstart', '--clean removes it.');
    const page = [HEAD, '## Starting\n', block(house, up)];
    await screen.another();
    const image = /Sample image: (\S+),/.exec(up)?.[1] ?? '';
    for (const shot of shots(image)) {
      const text = await screen.type(shot);
      if (shot.title !== undefined) page.push(`## ${shot.title}\n`);
      if (shot.words !== undefined) page.push(`${shot.words}\n`);
      if (shot.hidden !== true) page.push(block(house, text));
    }
    const stopped = (await screen.stop()).slice(up.length).replace(/^\^C/, '').replace(/\n\$$/, '').trim();
    page.push('## Stopping\n', 'Ctrl-C, where `berth up` runs:\n', block(house, stopped));
    writeFileSync(PAGE, page.join('\n'));
  } finally {
    screen.close();
    await house.stop();
  }
}

/** A page of the guide that starts from nothing, typed by a person: each command stands in the page, and what it shows is written there. */
async function capturePage(name: string): Promise<void> {
  const page = parsePage(name, readFileSync(join(GUIDE, name), 'utf8'));
  const house = new GuideHouse();
  const screen = new Screen(COLUMNS, ROWS);
  const shown = new Map<CommandStep, readonly string[]>();
  await house.prepare();
  try {
    await house.needMachines(page.machines);
    await screen.open(house);
    for (const step of page.steps) {
      if (step.kind === 'skipped') continue;
      const command = step.text.replaceAll(SAMPLE, house.sampleImage);
      if (step.kind === 'file') {
        writeFileSync(join(house.home, 'berth', step.name), command);
        continue;
      }
      const text =
        step.until === undefined ? await screen.type({ command }) : await screen.start(command, step.until);
      if (step.until !== undefined) await screen.another();
      house.hear(text);
      // The command itself stands there too.
      const output = text.split('\n').slice(command.split('\n').length).join('\n');
      if (step.expected !== undefined) shown.set(step, asWritten(house, step, output));
    }
    rewrite(name, shown);
    await screen.stop();
  } finally {
    screen.close();
    await house.stop();
  }
}

const only = process.argv[2];
if (only === undefined) {
  buildParts();
  await captureCommands();
}
for (const name of ['first-ten-minutes.md']) {
  // The page before is part of what is built.
  buildParts();
  if (only === undefined || only === name) await capturePage(name);
}
