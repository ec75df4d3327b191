/** A page of the guide as steps: what is run, in order, and what is said to come out. See docs/adding. */
export type Step = CommandStep | FileStep | SkippedStep;

export interface CommandStep {
  readonly kind: 'command';
  /** 1-based line of the page, for messages and for rewriting. */
  readonly line: number;
  readonly text: string;
  /** Lines below a `$` line of a console block; undefined in an sh block, where only the status counts. */
  readonly expected: readonly string[] | undefined;
  /** Exit status that the page promises. */
  readonly status: number;
  /** Stays up until the end of the page; the next step waits until it has said this. */
  readonly until: string | undefined;
}

export interface FileStep {
  readonly kind: 'file';
  readonly line: number;
  readonly name: string;
  readonly text: string;
}

export interface SkippedStep {
  readonly kind: 'skipped';
  readonly line: number;
  readonly reason: string;
  readonly commands: number;
}

export interface Page {
  readonly steps: readonly Step[];
  /** Engines beyond the first, for pages about several nodes: their sockets are $ENGINE2, $ENGINE3, … */
  readonly engines: number;
  /** Names of machines beside `vm`, reached by SSH; such a page starts its control plane itself. */
  readonly machines: readonly string[];
  /** Images beside the sample that the registry of the page's machine holds: see `house.ts`. */
  readonly images: readonly string[];
}

const FENCE = /^```(\S*)$/;
const MARKER = /^<!-- guide:(\w+)(?: (.*?))? ?-->$/;
const RUN_OPEN = /^<!-- guide:run$/;
const RUNNABLE = new Set(['sh', 'console']);
const OTHER = new Set(['ts', 'yaml', 'json', 'hcl', 'text', 'nginx', 'ini', 'http']);

interface Markers {
  readonly skip?: string;
  readonly status?: string;
  readonly background?: string;
  readonly file?: string;
}

/** Throws when a block is neither run, nor marked with a reason, nor in a language that is not run. */
export function parsePage(path: string, text: string): Page {
  const lines = text.split('\n');
  const steps: Step[] = [];
  let engines = 1;
  const images: string[] = [];
  const machines: string[] = [];
  let markers: Markers = {};
  const complain = (line: number, words: string): Error => new Error(`${path}:${line}: ${words}`);
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const [, name, value = ''] = MARKER.exec(line) ?? [];
    if (name === 'engines') engines = Number(value);
    else if (name === 'image') images.push(value);
    else if (name === 'machine') machines.push(value);
    else if (name !== undefined) {
      if (!['skip', 'status', 'background', 'file'].includes(name))
        throw complain(index + 1, `unknown marker guide:${name}`);
      if (value === '') throw complain(index + 1, `guide:${name} needs a value`);
      markers = { ...markers, [name]: value };
    } else if (RUN_OPEN.test(line)) {
      const end = lines.indexOf('-->', index);
      steps.push(command(index + 1, lines.slice(index + 1, end).join('\n'), undefined, {}));
      index = end;
    } else if (FENCE.test(line)) {
      const language = FENCE.exec(line)?.[1] ?? '';
      const end = lines.indexOf('```', index + 1);
      if (end === -1) throw complain(index + 1, 'the block does not end');
      const body = lines.slice(index + 1, end);
      if (RUNNABLE.has(language)) steps.push(...blockSteps(index + 2, language, body, markers));
      else if (!OTHER.has(language))
        throw complain(index + 1, `a block in "${language}": write sh or console (run), or text`);
      else if (markers.file !== undefined)
        steps.push({ kind: 'file', line: index + 1, name: markers.file, text: `${body.join('\n')}\n` });
      markers = {};
      index = end;
    }
  }
  return { steps, engines, machines, images };
}

function blockSteps(line: number, language: string, body: readonly string[], markers: Markers): Step[] {
  const commands =
    language === 'sh'
      ? [command(line, body.join('\n'), undefined, markers)]
      : consoleSteps(line, body, markers);
  if (markers.skip === undefined) return commands;
  return [{ kind: 'skipped', line, reason: markers.skip, commands: commands.length }];
}

/** `$ ` begins a command, which goes on after a backslash and to the end of a here-document; the rest is its output. */
function consoleSteps(first: number, body: readonly string[], markers: Markers): CommandStep[] {
  const steps: CommandStep[] = [];
  for (let index = 0; index < body.length; ) {
    const line = first + index;
    const text = [(body[index] ?? '').replace(/^\$ /, '')];
    index += 1;
    const mark = /<<-?\s*'?(\w+)'?/.exec(text[0] ?? '')?.[1];
    while (index < body.length && (mark === undefined ? text.at(-1)?.endsWith('\\') : text.at(-1) !== mark)) {
      text.push(body[index] ?? '');
      index += 1;
    }
    const expected: string[] = [];
    while (index < body.length && !body[index]?.startsWith('$ ')) {
      expected.push(body[index] ?? '');
      index += 1;
    }
    steps.push(command(line, text.join('\n'), expected, markers));
  }
  // A promised status is that of the block's last command.
  return steps.map((step, at) => (at === steps.length - 1 ? step : { ...step, status: 0 }));
}

function command(
  line: number,
  text: string,
  expected: readonly string[] | undefined,
  markers: Markers,
): CommandStep {
  const status = Number(markers.status ?? 0);
  return { kind: 'command', line, text, expected, status, until: markers.background };
}
