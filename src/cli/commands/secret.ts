import { isTextRecord } from '../../core/model/values.ts';
import { ROTATION_PHASES } from '../../core/model/rotation-phase.ts';
import { SECRET_CHARSETS, SECRET_ENCODINGS } from '../../core/model/secret-limits.ts';
import { unjudged } from '../../sdk/index.ts';
import { type Client, type Json, named } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import type { OptionValues } from '../option-values.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { inputJson } from '../input-json.ts';
import { inputFile } from '../input-text.ts';
import { type Listing, outputFormat, printRecord } from '../output.ts';
import { alterationLines } from '../plan-view.ts';
import { deleteCommand, printFound } from '../record-commands.ts';
import type { SecretConsumer } from '../records.ts';
import { resourceOf } from '../resources/index.ts';
import { field } from '../resources/resource.ts';
import { deleteSecret, secretParams } from '../secret-path.ts';
import type { Session } from '../session.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { WAIT_OPTIONS } from './apply.ts';
import { wholeNumber } from './run.ts';
import { hooksCommand, rotateCredential } from './secret-credential.ts';

const PATH = {
  term: '<path>',
  description: 'NAMESPACE/NAME, e.g. deployments/web or resources/db.',
  names: 'secrets',
} as const;

const MATERIAL_OPTIONS = [
  {
    flags: '--key <name>',
    description:
      'A key whose value is asked for at a prompt that does not show it, or read from standard input when that is no terminal. May be repeated on a terminal.',
    repeatable: true,
  },
  {
    flags: '--from-file <key=file>',
    description:
      'A key whose value is the content of a file, without one newline at its end. May be repeated.',
    repeatable: true,
  },
  { flags: '--from-json', description: 'Read a JSON object of keys and values from standard input.' },
  {
    flags: '--generate <key>',
    description: 'A key whose value the control plane makes and nobody sees. May be repeated.',
    repeatable: true,
  },
  { flags: '--bytes <n>', description: 'Of what --generate makes: 16 to 1024 random bytes. Default: 32.' },
  {
    flags: '--encoding <encoding>',
    description: 'Of these bytes. Default: base64url.',
    values: SECRET_ENCODINGS,
  },
  { flags: '--length <n>', description: 'Instead of bytes: a text of so many characters.' },
  {
    flags: '--charset <charset>',
    description: 'Of that text. Default: alphanumeric.',
    values: SECRET_CHARSETS,
  },
  {
    flags: '--alternate <key=values>',
    description:
      'A key that takes one of several values in turn, the next one at each rotation: user=shop_a,shop_b. May be repeated.',
    repeatable: true,
  },
] as const;

/** Values come from prompts, files and pipes only: the command line can be read by every user of the machine. */
async function material(session: Session, options: OptionValues): Promise<Json> {
  const { terminal } = session;
  const given = options.flag('fromJson') ? Object.entries(parseValues(await terminal.readInput())) : [];
  for (const entry of options.list('fromFile')) {
    const [key, file] = keyAndFile(entry);
    given.push([key, withoutNewline(inputFile(file, '--from-file'))]);
  }
  const keys = options.list('key');
  if (keys.length > 0 && !terminal.interactive) {
    if (keys.length > 1 || options.flag('fromJson'))
      throw usage('standard input holds one value: one --key, or --from-json for several');
    given.push([keys[0] ?? '', withoutNewline(await terminal.readInput())]);
  } else {
    for (const key of keys) given.push([key, await terminal.askHidden(`Value of ${key}: `)]);
  }
  const values = eachOnce(given);
  const made = options.list('generate');
  const form = formOf(options);
  if (made.length === 0 && Object.keys(form).length > 0)
    throw usage('--bytes, --encoding, --length and --charset say how --generate KEY makes a value');
  const generate = {
    ...(made.length > 0 && { keys: made, ...form }),
    ...alternates(options.list('alternate')),
  };
  return {
    ...(Object.keys(values).length > 0 && { values }),
    ...(Object.keys(generate).length > 0 && { generate }),
  };
}

/** What the control plane takes of it, it says itself. */
function formOf(options: OptionValues): Json {
  const [bytes, length] = [options.text('bytes'), options.text('length')];
  const [encoding, charset] = [options.text('encoding'), options.text('charset')];
  return {
    ...(bytes !== undefined && { bytes: wholeNumber('--bytes', bytes) }),
    ...(encoding !== undefined && { encoding }),
    ...(length !== undefined && { length: wholeNumber('--length', length) }),
    ...(charset !== undefined && { charset }),
  };
}

function alternates(entries: readonly string[]): Json {
  return eachOnce(
    entries.map((entry) => {
      const at = entry.indexOf('=');
      if (at < 1) throw usage('--alternate: expected KEY=VALUE,VALUE');
      return [entry.slice(0, at), { alternate: entry.slice(at + 1).split(',') }] as const;
    }),
  );
}

/** Of two values of one key, one would be lost. */
function eachOnce<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  const twice = entries.find(([key], at) => entries.findIndex(([other]) => other === key) !== at);
  if (twice !== undefined) throw usage(`the key ${twice[0]} is given twice`);
  return Object.fromEntries(entries);
}

function keyAndFile(entry: string): readonly [string, string] {
  const at = entry.indexOf('=');
  if (at < 1) throw usage('--from-file: expected KEY=FILE');
  return [entry.slice(0, at), entry.slice(at + 1)];
}

function withoutNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function parseValues(text: string): Readonly<Record<string, string>> {
  const parsed = inputJson(text, '--from-json: standard input');
  if (!isTextRecord(parsed)) throw usage('--from-json: expected one object whose values are texts');
  return parsed;
}

const write: Subcommand = {
  name: 'write',
  summary: 'Write a secret document',
  description: [
    'Writes the document at a path: one or more keys with values. It replaces the document whole, as a new version. The answer and every later read show names and versions only; no operation answers with a value.',
    'Values come from a prompt, a file or standard input, never from arguments.',
  ],
  parameters: [PATH],
  options: [...MATERIAL_OPTIONS, OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth secret write deployments/web --key password', what: 'asks for the value' },
    { line: 'pass show db | berth secret write resources/db --key password', what: 'from a pipe' },
    {
      line: 'berth secret write deployments/web --generate session_key',
      what: 'made by the control plane, seen by nobody',
    },
  ],
  run: async (session, { parameters: [path = ''], options }) => {
    const format = outputFormat(options);
    const at = secretParams(path);
    const client = session.client(options);
    const body = await material(session, options);
    if (Object.keys(body).length === 0)
      throw usage('no keys were given', [
        '--key NAME asks for a value; --generate NAME lets the control plane make one',
      ]);
    const written = await client.record('PUT /api/v1/secrets/{namespace}/{name}', {
      ...at,
      body: unjudged(body),
    });
    if (format === 'table')
      session.terminal.out(
        `secret/${path} written: version ${textOf(written.version)}, keys ${(written.keys ?? []).join(', ')}\n`,
      );
    else await printRecord(session.terminal, resourceOf('secrets'), written, format, session.now());
    for (const line of alterationLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    return EXIT.ok;
  },
};

const CONSUMERS: Listing<SecretConsumer> = {
  nameOf: (record) => `deployment/${textOf(record.deployment)}`,
  columns: [
    field('DEPLOYMENT', ({ deployment, job, webhook }) =>
      job === undefined ? (webhook === undefined ? deployment : `webhook ${webhook}`) : `job ${job}`,
    ),
    field('ENTRY', ({ secret, ingress }) => (ingress === undefined ? secret : `tls of ${ingress}`)),
    field('ANCHOR', (one) => one.anchor),
    field('SECRETS-VERSION', (one) => one.secretsVersion),
  ],
};

const consumers: Subcommand = {
  name: 'consumers',
  summary: 'List the deployments that read a secret',
  description: [
    'Lists every deployment that references the credential of this name, whatever its namespace.',
  ],
  parameters: [
    {
      term: '<name>',
      description: 'The name after the namespace: db for resources/db. The whole path works too.',
      names: 'secrets',
    },
  ],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth secret consumers db', what: 'who would notice a new password?' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const label = name.split('/').at(-1) ?? name;
    const found = await session
      .client(options)
      .list('GET /api/v1/secrets/resources/{name}/consumers', named(label));
    await printFound(session, { ...CONSUMERS, nothing: `nothing references ${label}` }, found, format);
    return EXIT.ok;
  },
};

/** Of a deployment, or of a whole credential. */
async function nextPhase(client: Client, name: string): Promise<string> {
  if (name.includes('/')) {
    const record = await client.record('GET /api/v1/secrets/{namespace}/{name}', secretParams(name));
    return textOf(record.nextPhase);
  }
  const { status } = await client.record('GET /api/v1/deployments/{name}', named(name));
  return textOf(status?.rotation?.next);
}

const rotate: Subcommand = {
  name: 'rotate',
  summary: 'Advance the rotation of a credential, or of what a deployment reads, by one phase',
  description: [
    'Given the path of a credential, everybody who reads it goes through the phase together; given a deployment, that one alone, which is refused for a credential with hooks. A phase that waits for a hook is asked for again until the hook has succeeded; when it fails, the command ends with its output, and the next one runs it again.',
    'A rotation has three phases. stage delivers the new value beside the old one (NAME_key and NAME_key_NEXT); promote makes it the value (NAME_key, and NAME_key_PREVIOUS for the old one); retire drops the old one; abort goes back from the first two. Each phase restarts the instances, one healthy replacement at a time, and the next one is refused until all carry it.',
    'Without --phase the next phase in order is taken. With stage, new values may be given as for berth secret write; without, the control plane makes new ones, or takes the newest version of a credential that is managed elsewhere.',
  ],
  parameters: [
    {
      term: '<path-or-deployment>',
      description: 'NAMESPACE/NAME of a credential, or a deployment.',
      names: 'secrets',
    },
  ],
  options: [
    {
      flags: '--phase <phase>',
      description: 'stage, promote, retire or abort. Default: the next in order.',
      values: ROTATION_PHASES,
    },
    { flags: '--secret <entry>', description: 'Only this entry of the deployment. Default: every entry.' },
    ...MATERIAL_OPTIONS,
    ...WAIT_OPTIONS,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth secret rotate web', what: 'the next phase, whichever it is' },
    { line: 'berth secret rotate resources/db', what: 'of everybody who reads the credential' },
    {
      line: 'berth secret rotate web --phase stage --secret DB --key password',
      what: 'begin with a value of your own',
    },
  ],
  run: async (session, { parameters: [deployment = ''], options }) => {
    const timeoutMs = timeoutOf(options);
    const client = session.client(options);
    const asked = options.text('phase');
    if (asked !== undefined && !ROTATION_PHASES.some((known) => known === asked))
      throw usage(`--phase ${asked}: expected ${ROTATION_PHASES.join(', ')}`);
    const phase = asked ?? (await nextPhase(client, deployment));
    const secretName = options.text('secret');
    const isWaiting = options.unlessDenied('wait');
    if (deployment.includes('/')) {
      if (secretName !== undefined) throw usage('--secret names an entry of a deployment');
      return rotateCredential(session, client, {
        path: deployment,
        at: secretParams(deployment),
        phase,
        material: await material(session, options),
        ...(isWaiting && { timeoutMs }),
      });
    }
    const body = {
      phase,
      ...(secretName === undefined ? {} : { secret: secretName }),
      ...(await material(session, options)),
    };
    const written = await client.record('POST /api/v1/deployments/{name}/secrets/rotate', {
      ...named(deployment),
      body: unjudged(body),
    });
    session.terminal.out(
      `deployment/${deployment}: ${phase} accepted, secretsVersion ${textOf(written.secretsVersion)}\n`,
    );
    const code = isWaiting
      ? await waitUntilHealthy(
          session,
          client,
          { name: textOf(written.name), specHash: textOf(written.specHash), alone: true },
          timeoutMs,
        )
      : EXIT.ok;
    if (code === EXIT.ok)
      session.terminal.err(
        phase === 'retire' || phase === 'abort'
          ? 'the rotation is complete: only the new credential is delivered, and the old one may be revoked\n'
          : `${session.next(`berth secret rotate ${deployment} --phase ${textOf(written.status?.rotation?.next)}`)}\n`,
      );
    return code;
  },
};

const list: Subcommand = {
  name: 'list',
  aliases: ['ls'],
  summary: 'List secrets and who refers to them',
  description: [
    'Lists every document of the tenant with its keys and who refers to it, and every path that is referenced without being there. Never a value.',
  ],
  options: [
    { flags: '--unreferenced', description: 'Only those that nothing refers to.' },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth secret list', what: 'what there is, what is missing, who reads it' },
    { line: 'berth secret list --unreferenced', what: 'what may be deleted' },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const query = options.flag('unreferenced') ? { unreferenced: true } : {};
    const found = await session.client(options).list('GET /api/v1/secrets', { query });
    await printFound(session, resourceOf('secrets'), found, format);
    return EXIT.ok;
  },
};

const remove = deleteCommand({
  kind: 'secret',
  parameter: PATH,
  remove: deleteSecret,
  and: 'all its versions',
  summary: 'Delete a secret that nothing refers to',
  description: [
    'Deletes a document with all its versions, beyond recovery. It is refused while anything refers to it, and the refusal names who does.',
  ],
  examples: [{ line: 'berth secret delete resources/db', what: 'once nobody reads it' }],
});

export const secret: CommandBody = {
  description: [
    'Credentials live in the secrets store of the control plane; deployments hold references to them, and containers get the values as environment variables. No command and no role can read a value back.',
  ],
  examples: [
    { line: 'berth secret write deployments/web --generate password', what: 'write one' },
    { line: 'berth secret rotate web', what: 'replace what web uses, without an interruption' },
  ],
  subcommands: [
    write,
    list,
    {
      name: 'show',
      summary: 'Show keys and versions of a document, never values',
      description: ['Prints the metadata of a document: its keys and versions.'],
      parameters: [PATH],
      options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
      examples: [{ line: 'berth secret show deployments/web -o yaml', what: 'every version with its time' }],
      run: async (session, { parameters: [path = ''], options }) => {
        const format = outputFormat(options);
        const record = await session
          .client(options)
          .record('GET /api/v1/secrets/{namespace}/{name}', secretParams(path));
        await printRecord(session.terminal, resourceOf('secrets'), record, format, session.now());
        return EXIT.ok;
      },
    },
    consumers,
    rotate,
    hooksCommand,
    remove,
  ],
};
