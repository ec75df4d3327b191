import { REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { usage } from '../failure.ts';
import { nodeLabels } from '../node-labels.ts';
import type { OptionValues } from '../option-values.ts';
import { timeoutOf } from '../waiting.ts';

export const addCommand: Subcommand = {
  name: 'add',
  summary: 'Make another machine a node, over SSH',
  description: [
    "Connects to the machine with this machine's ssh, sends this installation of Berth to it (its Node included: the machine needs neither Node nor npm nor the internet), checks from there that the control plane is reached, enrols it, runs the agent as a service of systemd and waits until the node is ready.",
    'It needs root there, or sudo without a password, and a container engine that runs: Docker 20.10 or newer, or Podman 4 or newer. Host keys, passwords and keys are a matter of ssh, which asks at the terminal.',
    'A second run looks at what is there and goes on from it: it brings a newer release, other labels, or nothing. The join token goes through standard input, and is in no argument, file or log.',
  ],
  parameters: [
    { term: '<destination>', description: 'As ssh takes it: user@host, or a name of its configuration.' },
  ],
  options: [
    { flags: '--name <node>', description: 'Name of the node. Default: the host name of the machine.' },
    {
      flags: '--label <key=value>',
      description:
        'A label of the node, e.g. disk=ssd; may be repeated. Those given take the place of those before.',
      repeatable: true,
    },
    {
      flags: '--dry-run',
      description: 'Look at the machine, print what would be done there, and change nothing. Ends with 0.',
    },
    { flags: '-i, --identity <file>', description: 'The private key that ssh uses.' },
    { flags: '-p, --port <port>', description: 'The port of SSH there.' },
    {
      flags: '--ssh-option <option>',
      description: 'A further option of ssh, as after its -o, e.g. ProxyJump=gate; may be repeated.',
      repeatable: true,
    },
    {
      flags: '--server <url>',
      description:
        'The address at which the machine reaches the control plane. Default: as the control plane says.',
    },
    {
      flags: '--engine <socket>',
      description: 'Socket of the container engine there. Default: the usual places.',
    },
    {
      flags: '--release <folder>',
      description: 'Another installation to send than this one, e.g. one for another processor.',
    },
    { flags: '--replace', description: 'It takes the place of a lost machine of the same name.' },
    {
      flags: '--timeout <duration>',
      description: 'How long to wait until the node is ready.',
      default: '1m',
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth node add root@192.0.2.7 --name berlin-2 --label disk=ssd', what: 'enrol a machine' },
    { line: 'berth node add ops@berlin-2 --dry-run', what: 'what would be done there?' },
  ],
  run: async (session, { parameters: [destination = ''], options }) => {
    const wish = {
      name: options.text('name'),
      labels: nodeLabels(options),
      engine: options.text('engine'),
      server: serverOf(options),
      replace: options.flag('replace'),
      dryRun: options.flag('dryRun'),
      timeoutMs: timeoutOf(options, '1m'),
    };
    if (!/^[A-Za-z0-9_][^\s\0]{0,254}$/.test(destination))
      throw usage(`"${destination}" is no destination of ssh: expected user@host`);
    const args = sshArgs(options);
    const client = session.client(options);
    const { Ssh } = await import('../machine/ssh.ts');
    const { addMachine } = await import('../machine/add.ts');
    const { readRelease } = await import('../machine/release.ts');
    // Before anything is done to a machine: is the control plane there, and does it let this user enrol one?
    await client.list('GET /api/v1/join-tokens');
    const release = readRelease(options.text('release'));
    const { interactive } = session.terminal;
    const ssh = new Ssh({ name: destination, args, interactive }, session.environment, session.interrupted);
    try {
      return await addMachine(session, client, ssh, release, wish);
    } finally {
      await ssh.close();
    }
  },
};

function serverOf(options: OptionValues): string | undefined {
  const text = options.text('server');
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.pathname !== '/')
    throw usage(`--server ${text}: expected an address such as https://berth.example.com:7600`);
  return url.origin;
}

function sshArgs(options: OptionValues): readonly string[] {
  const port = options.text('port');
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535))
    throw usage(`--port ${port}: expected a port from 1 to 65535`);
  const identity = options.text('identity');
  return [
    ...(identity === undefined ? [] : ['-i', identity]),
    ...(port === undefined ? [] : ['-p', port]),
    ...options.list('sshOption').flatMap((option) => ['-o', option]),
  ];
}
