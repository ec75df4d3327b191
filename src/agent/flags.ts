/** Every setting of the agent, in the order in which `--help` shows them. */
export interface Flag {
  readonly name: string;
  /** Absent: a switch. */
  readonly value?: string;
  readonly variable?: string;
  /** May be given several times; in the variable, separated by this. */
  readonly separator?: string;
  readonly help: string;
}

export const FLAGS = [
  {
    name: 'server',
    value: 'URL',
    variable: 'BERTH_AGENT_SERVER',
    separator: ',',
    help: 'Address of the control plane, e.g. https://berth.example.com; may be repeated where several share one store. Needed at the first start; later the stored ones are used unless this is given.',
  },
  {
    name: 'join',
    value: 'TOKEN',
    variable: 'BERTH_AGENT_JOIN',
    help: 'Join token of the first start. Arguments can be read by every user of the machine: prefer --join-file or the variable.',
  },
  {
    name: 'join-file',
    value: 'FILE',
    variable: 'BERTH_AGENT_JOIN_FILE',
    help: 'File that holds the join token; - reads standard input.',
  },
  {
    name: 'ca-digest',
    value: 'sha256:HEX',
    variable: 'BERTH_AGENT_CA_DIGEST',
    help: 'SHA-256 of the certificate of the control plane or of its issuer. Nothing is sent to a server that shows another one. The join line carries it.',
  },
  {
    name: 'ca-file',
    value: 'FILE',
    variable: 'BERTH_AGENT_CA_FILE',
    help: 'Certificates (PEM) of authorities that are trusted beside those of this machine, e.g. of a company. Of no meaning with a digest, which alone decides then.',
  },
  {
    name: 'proxy',
    value: 'URL',
    variable: 'BERTH_AGENT_PROXY',
    help: 'Reaches the control plane through this HTTP proxy (CONNECT), e.g. http://proxy.example.com:3128, with a user and a password where it wants them; off: never through one. Default: HTTPS_PROXY (HTTP_PROXY for an address without TLS), except for the hosts of NO_PROXY. Images are pulled by the container engine, which has settings of its own.',
  },
  {
    name: 'name',
    value: 'NODE',
    variable: 'BERTH_AGENT_NAME',
    help: 'Name of this node, unique on the platform: lower-case letters, digits, dots and hyphens. Default: the host name.',
  },
  {
    name: 'data-dir',
    value: 'DIR',
    variable: 'BERTH_AGENT_DATA_DIR',
    help: "The node's identity. Default: /var/lib/berth-agent. Made with mode 0700.",
  },
  {
    name: 'engine',
    value: 'SOCKET',
    variable: 'BERTH_AGENT_ENGINE',
    help: 'Socket of the container engine (Docker 20.10 or newer, Podman 4 or newer). Default: DOCKER_HOST, else the usual places.',
  },
  {
    name: 'label',
    value: 'KEY=VALUE',
    variable: 'BERTH_AGENT_LABELS',
    separator: ',',
    help: 'A label of the node, e.g. berth.io/country=DE; may be repeated.',
  },
  {
    name: 'bind-root',
    value: 'DIR',
    variable: 'BERTH_AGENT_BIND_ROOTS',
    separator: ':',
    help: "Directory below which volumes of type bind may lie, each in a folder named like the tenant's slug; may be repeated. Without one, none is allowed.",
  },
  {
    name: 'host-ports',
    value: 'PORTS',
    variable: 'BERTH_AGENT_HOST_PORTS',
    separator: ',',
    help: 'Ports of this machine that workloads may name, e.g. 443,8000-8999, or none; may be repeated. Without it, all. Ports that the engine chooses itself are not meant.',
  },
  {
    name: 'metadata',
    value: 'ACCESS',
    variable: 'BERTH_AGENT_METADATA',
    help: "blocked (default): containers do not reach the metadata addresses of clouds, such as 169.254.169.254, which hand out the machine's credentials. allowed: they do.",
  },
  {
    name: 'mesh',
    value: 'PORT',
    variable: 'BERTH_AGENT_MESH',
    help: "UDP port on which other nodes of the tenant reach this one; the next one is used too. Default: 51820. off: containers here are not part of the tenant's network across nodes.",
  },
  {
    name: 'advertise-address',
    value: 'ADDRESS',
    variable: 'BERTH_AGENT_ADVERTISE_ADDRESSES',
    separator: ',',
    help: 'IPv4 address by which other nodes reach this one, where the machine does not know it, e.g. behind a forwarded port; may be repeated.',
  },
  {
    name: 'ingress',
    value: 'PORTS',
    variable: 'BERTH_AGENT_INGRESS',
    help: "on: this node serves the hosts of the tenant's deployments on ports 80 and 443, by Caddy (package caddy). HTTP,HTTPS, e.g. 8080,8443: on these ports. Default: off.",
  },
  {
    name: 'volume-engine',
    value: 'ENGINE',
    variable: 'BERTH_AGENT_VOLUME_ENGINE',
    help: 'How replicated volumes are kept: btrfs (package btrfs-progs) or rsync (packages rsync and e2fsprogs). All nodes that keep copies of a volume need the same one. Default: the first that works.',
  },
  {
    name: 'volume-copy-interval',
    value: 'TIME',
    variable: 'BERTH_AGENT_VOLUME_COPY_INTERVAL',
    help: 'How often the copies of a replicated volume are brought up to date: 1s (default) to 60s.',
  },
  {
    name: 'clean-disk',
    value: 'PERCENTS',
    variable: 'BERTH_AGENT_CLEAN_DISK',
    help: 'FROM,TO: when the disk of the engine is FROM percent full, images that this agent pulled and nobody needs are removed, the longest unused first, until it is below TO percent. Default: 80,70. off: none is removed for room.',
  },
  {
    name: 'clean-unused',
    value: 'TIME',
    variable: 'BERTH_AGENT_CLEAN_UNUSED',
    help: 'Such images are removed after so long without use, however much room there is, e.g. 720h (default); at least 1h. off: none is removed for its age.',
  },
  {
    name: 'clean-diverged',
    value: 'TIME',
    variable: 'BERTH_AGENT_CLEAN_DIVERGED',
    help: 'What an earlier primary of a replicated volume alone had written (event volume.diverged) is kept so long, counted while the agent runs, e.g. 720h (default); at least 1h. off: until somebody removes it.',
  },
  {
    name: 'log-level',
    value: 'LEVEL',
    variable: 'BERTH_AGENT_LOG_LEVEL',
    help: 'debug, info (default), warn or error.',
  },
  {
    name: 'check',
    help: 'Looks whether a container engine answers, and whether the control plane does from here, with the right certificate; says so and exits. Nothing is changed.',
  },
  {
    name: 'enrol',
    help: 'Registers this machine, remembers the flags and exits: a service starts the agent then. A machine that is registered stays so.',
  },
  {
    name: 'repin',
    help: 'Also as berth agent repin: knows the control plane by --ca-digest from now on, instead of by what it was told before, after trying a connection; then exits. Stop the agent for it: its containers go on.',
  },
  {
    name: 'leave',
    help: "Removes what the agent has set up on this machine and what outlives it: its part in the tenant's network, the ingress, and mounts of volumes that no container has any more. Containers and the bytes of volumes stay. Then exits.",
  },
  { name: 'version', help: 'Print the version and exit.' },
  { name: 'help', help: 'Print this text and exit.' },
] as const satisfies readonly Flag[];

export type FlagName = (typeof FLAGS)[number]['name'];

const WIDTH = 80;
const INDENT = '          ';

export function helpText(): string {
  return `NAME
    berth agent - runs the deployments of a tenant on this machine

SYNOPSIS
    berth agent --server URL --join TOKEN [--name NODE] [--label KEY=VALUE]...
    berth agent
    berth agent repin --ca-digest sha256:HEX

DESCRIPTION
    Connects this machine to a control plane as a node of one tenant, and keeps
    the containers that are assigned to it running on the local container engine.
    It only dials out, so that it works behind a firewall or address translation.

    At the first start it makes a key pair and registers with the join token (good
    for one use). Each start tells that the node is connected with a line such as

        node n1 ready: docker 20.10, 4 CPU, 7.6 GiB, country=DE

    Later starts need no arguments: the flags --engine, --label, --bind-root,
    --host-ports, --metadata, --mesh, --advertise-address, --ingress, --volume-engine,
    --volume-copy-interval, --clean-disk, --clean-unused, --clean-diverged, --ca-file
    and --proxy are remembered. Given again, a flag takes the place of the remembered
    one, as does its variable; an empty value (--label=) takes it away.

    Containers outlive the agent: while it is stopped, restarted or without
    connection they keep running.

OPTIONS
${FLAGS.map(describe).join('\n')}
FILES
    DATA-DIR/identity.json   address, node name and token of the node, mode 0600
    DATA-DIR/settings.json   flags that are remembered
    DATA-DIR/node.key        its private key, mode 0600; never leaves the machine
    DATA-DIR/binds           folders of the host that containers mount, held by the agent
    DATA-DIR/bound           what it starts again by itself: containers with binds
    DATA-DIR/orders.json     the last orders, by which it starts containers again when the
                             machine starts and no control plane answers
    DATA-DIR/mesh-map.json   the tenant's network as it was told last, for the same
    DATA-DIR/images.json     images that it pulled: only these may be removed
    DATA-DIR/ingress         of Caddy: its socket, logs of access and errors, keys and
                             certificates that it got by ACME, mode 0600
    DATA-DIR/volumes         the bytes of volumes, one folder each; watchdog.log tells
                             whose lease ran out

EXIT STATUS
    0  ended by SIGTERM or SIGINT
    1  wrong arguments, refused registration, or no engine at the first start
    2  dismissed by the control plane, e.g. because the node was deleted

EXAMPLES
    echo "$TOKEN" | berth agent --server https://berth.example.com \\
        --join-file - --name berlin-1 --label berth.io/country=DE
`;
}

function describe(flag: Flag): string {
  const variable = flag.variable === undefined ? '' : ` [${flag.variable}]`;
  const head = `    --${flag.name}${flag.value === undefined ? '' : ` ${flag.value}`}`;
  return `${head}\n${wrapped(`${flag.help}${variable}`)}\n`;
}

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(' ')) {
    if (line.length + word.length > WIDTH && line !== INDENT) {
      lines.push(line.trimEnd());
      line = INDENT;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}
