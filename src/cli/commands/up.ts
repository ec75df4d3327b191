import { isIP } from 'node:net';
import type { CommandBody } from '../command.ts';
import { usage } from '../failure.ts';
import { nodeLabels } from '../node-labels.ts';
import { wholeNumber } from './run.ts';

function portOf(flag: string, text: string): number {
  const port = wholeNumber(flag, text);
  if (port < 1 || port > 65_535) throw usage(`${flag} ${port}: expected 1 to 65535`);
  return port;
}

export const up: CommandBody = {
  description: [
    'Starts a control plane on this machine and enrols the machine as its first node, and stays until Ctrl-C. A server or agent that ends on its own is started again, while containers run on. With --quickstart it also starts a local registry, builds a small web server image without the internet, deploys it as hello, and checks its page before it prints the address.',
    'It uses a Docker or Podman that runs already and installs nothing beside it. Without one it needs root: it says what is missing and why, installs that with apt-get (Debian, Ubuntu), and starts an engine of its own with data, socket and network of its own.',
    'Everything is kept in the data folder, so that a second start finds it again; it remembers the control plane as context local. Ctrl-C stops everything that was started and removes its containers. --clean removes the folder, unless it held other files before.',
    'The machine of a control plane takes deployments of the platform only, so hello runs as tenant platform. Enrol other machines for other tenants: berth node token.',
  ],
  options: [
    { flags: '--quickstart', description: 'Also deploy and check a sample.' },
    { flags: '--data-dir <folder>', description: 'Where everything is kept.', default: './.berth' },
    {
      flags: '--port <port>',
      description: 'First port to try for the control plane.',
      default: '7600',
    },
    {
      flags: '--listen <address>',
      description:
        'Where the control plane listens. Another address than that of loopback, such as 0.0.0.0 for all of this machine, makes a certificate and prints the line that enrols another machine.',
      default: '127.0.0.1',
    },
    {
      flags: '--label <key=value>',
      description: 'Label of this machine as a node. May be repeated.',
      repeatable: true,
    },
    { flags: '--sample-port <port>', description: 'First port to try for the sample. Default: 8080.' },
    {
      flags: '--registry <port or host:port>',
      description:
        'First port to try for the registry of the sample (default: 5000), or the address of one without TLS that is there already.',
    },
    {
      flags: '--engine <socket>',
      description: 'Use the engine at this socket. Default: DOCKER_HOST, else the usual places.',
    },
    { flags: '--own-engine', description: 'Start an engine of its own although another one runs.' },
    {
      flags: '--clean',
      description: 'Stop what an earlier run left behind, remove the data folder and the context, and end.',
    },
  ],
  notes: [
    {
      title: 'FILES',
      lines: [
        'DATA-DIR/admin-token    token of the platform administrator, mode 0600',
        'DATA-DIR/tls.crt, .key  certificate of its own, with --listen',
        'DATA-DIR/logs/          output of server, agent, registry and engine',
        'DATA-DIR/up.json        ports and processes, for the next start',
        'DATA-DIR/programs/      packages that were unpacked rather than installed',
      ],
    },
  ],
  examples: [
    { line: 'berth up --quickstart', what: 'from nothing to a checked page' },
    { line: 'berth up --data-dir /srv/berth', what: 'a control plane and a node, without the sample' },
    {
      line: 'berth up --listen 0.0.0.0 --label disk=ssd',
      what: 'reached from other machines, by TLS',
    },
    { line: 'berth up --clean', what: 'remove everything again' },
  ],
  run: async (session, { options }) => {
    const { clean, up: start } = await import('../up/up.ts');
    const dataDir = options.text('dataDir') ?? './.berth';
    if (options.flag('clean')) return clean(session, dataDir);
    const engine = options.text('engine');
    if (engine !== undefined && options.flag('ownEngine'))
      throw usage('--engine and --own-engine exclude each other');
    const listen = options.text('listen') ?? '127.0.0.1';
    if (isIP(listen) === 0)
      throw usage(`--listen ${listen}: expected an address of this machine`, [
        '--listen 0.0.0.0 is all of them; the port is --port',
      ]);
    const quickstart = options.flag('quickstart');
    const samplePort = options.text('samplePort');
    const registry = options.text('registry');
    return start(session, {
      dataDir,
      quickstart,
      listen,
      port: portOf('--port', options.text('port') ?? '7600'),
      samplePort: samplePort === undefined ? undefined : portOf('--sample-port', samplePort),
      registry: registry?.includes(':') ? registry : registry && portOf('--registry', registry),
      labels: nodeLabels(options, { mayTakeAway: true }),
      engine,
      ownEngine: options.flag('ownEngine'),
    });
  },
};
