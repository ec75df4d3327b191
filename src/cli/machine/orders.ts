/** What is done on the machine: a script of POSIX sh, with what differs as its arguments. */
export interface Order {
  readonly what: string;
  readonly script: string;
  readonly args: readonly string[];
  /** What its standard input carries, in words. */
  readonly input?: string;
}

export const DATA_DIR = '/var/lib/berth-agent';
const HOME = '/opt/berth';
const LOG = '/var/log/berth-agent.log';
const PID = '/run/berth-agent.pid';
const UNIT = 'berth-agent.service';
/** Of a release that is given up, what still runs of it (watchdogs) has loaded what it needs. */
const KEPT_RELEASES = 3;

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** As the login shell of the machine takes it: one line of words, whatever shell that is. */
export function commandLine({ script, args }: Pick<Order, 'script' | 'args'>): string {
  return ['sh', '-c', script, 'berth', ...args]
    .map((word) => (word === 'sh' ? word : quoted(word)))
    .join(' ');
}

/** The lines that `--dry-run` shows. */
export function orderLines({ script, args }: Order): readonly string[] {
  const given = args.length === 0 ? [] : [`set -- ${args.map(quoted).join(' ')}`];
  return [...given, ...script.trim().split('\n')];
}

/** Who is it that ssh lets in? */
export const WHO: Pick<Order, 'script' | 'args'> = {
  script: `
if [ "$(id -u)" = 0 ]; then echo root=yes
elif ! command -v sudo >/dev/null 2>&1; then echo root=none
elif sudo -n true 2>/dev/null; then echo root=sudo
else echo root=password; fi
`,
  args: [],
};

const RUNNING = `running() {
  [ -s ${PID} ] && grep -qs agent "/proc/$(cat ${PID})/cmdline"
}`;

/** Reads only. The identity holds the node's token: of it the name and the address are taken and nothing else. */
export const LOOK: Pick<Order, 'script' | 'args'> = {
  script: `
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
echo "system=$(uname -s)"
echo "machine=$(uname -m)"
echo "host=$(cat /proc/sys/kernel/hostname 2>/dev/null || uname -n)"
echo "now=$(date +%s)"
for file in /lib/ld-musl-*; do [ -e "$file" ] && echo libc=musl; done
[ -d /run/systemd/system ] && echo systemd=yes
for program in tar gzip; do command -v $program >/dev/null 2>&1 || echo "missing=$program"; done
library=libatomic.so.1
for file in /lib/*/$library /lib64/$library /usr/lib/*/$library /usr/lib64/$library /usr/lib/$library; do [ -s "$file" ] && library=; done
[ -z "$library" ] || ldconfig -p 2>/dev/null | grep -qF $library || echo missing=libatomic1
for program in docker podman; do command -v $program >/dev/null 2>&1 && echo "program=$program"; done
for socket in /var/run/docker.sock /run/podman/podman.sock; do [ -S $socket ] && echo "socket=$socket"; done
echo "free=$(df -Pk ${HOME} 2>/dev/null || df -Pk /opt 2>/dev/null || df -Pk /)" | tr '\\n' ' '
echo
link=$(readlink /usr/local/bin/berth 2>/dev/null)
if [ "$link" = ${HOME}/current/bin/berth ]; then echo berth=ours
elif [ -e /usr/local/bin/berth ]; then echo berth=other; fi
current=$(readlink ${HOME}/current 2>/dev/null)
[ -x "$current/bin/berth" ] && echo "release=\${current##*/}"
for file in ${HOME}/releases/*/bin/berth; do
  file=\${file%/bin/berth}
  case $file in *'*' | *.part) ;; *) echo "unpacked=\${file##*/}" ;; esac
done
identity=${DATA_DIR}/identity.json
if [ -s $identity ]; then
  echo "node=$(tr ',' '\\n' < $identity | sed -n 's/.*"nodeName" *: *"\\([^"]*\\)".*/\\1/p')"
  echo "server=$(tr ',' '\\n' < $identity | sed -n 's/.*"server" *: *"\\([^"]*\\)".*/\\1/p')"
fi
${RUNNING}
if [ -d /run/systemd/system ]; then
  systemctl is-active --quiet ${UNIT} && systemctl is-enabled --quiet ${UNIT} && echo running=yes
elif running; then echo running=yes; fi
exit 0
`,
  args: [],
};

/** Into a folder of its own that counts only when it is whole and its program runs here. */
export function unpackOrder(release: string): Order {
  return {
    what: `Unpack the release into ${HOME}/releases/${release}`,
    input: 'the release, as a compressed tar archive',
    script: `
set -e
umask 022
folder=${HOME}/releases/$1
rm -rf "$folder.part"
mkdir -p "$folder.part"
tar -xzf - -C "$folder.part"
"$folder.part/bin/berth" version
rm -rf "$folder"
mv "$folder.part" "$folder"
`,
    args: [release],
  };
}

export function switchOrder(release: string): Order {
  return {
    what: 'Make it the one that runs',
    script: `
set -e
rm -f ${HOME}/current.new
ln -s "${HOME}/releases/$1" ${HOME}/current.new
mv -fT ${HOME}/current.new ${HOME}/current
mkdir -p /usr/local/bin
[ -e /usr/local/bin/berth ] || ln -sf ${HOME}/current/bin/berth /usr/local/bin/berth
ls -dt ${HOME}/releases/* | tail -n +${KEPT_RELEASES + 1} | grep -vF "/$1" | xargs rm -rf
`,
    args: [release],
  };
}

export interface Joining {
  readonly server: string;
  readonly caDigest: string | undefined;
  readonly name: string;
  readonly labels: readonly string[];
  readonly engine: string | undefined;
}

function addressArgs({ server, caDigest, engine }: Joining): readonly string[] {
  return [
    '--data-dir',
    DATA_DIR,
    '--server',
    server,
    ...(caDigest === undefined ? [] : ['--ca-digest', caDigest]),
    ...(engine === undefined ? [] : ['--engine', engine]),
  ];
}

export function checkOrder(joining: Joining): Order {
  return {
    what: 'Check that its engine answers, and that it reaches the control plane',
    script: `\nexec ${HOME}/current/bin/berth agent --check "$@"\n`,
    args: addressArgs(joining),
  };
}

const STOP = `if [ -d /run/systemd/system ]; then systemctl stop ${UNIT} 2>/dev/null || true
elif running; then
  pid=$(cat ${PID})
  kill "$pid"
  for i in 1 2 3 4 5 6 7 8 9 10; do [ -d "/proc/$pid" ] || break; sleep 0.3; done
fi`;

/** An agent that runs is stopped before: of two with one identity the second is refused. Containers go on. */
export function enrolOrder(joining: Joining): Order {
  return {
    what: `Register it as node ${joining.name}`,
    input: 'a join token that works once',
    script: `
${RUNNING}
${STOP}
exec ${HOME}/current/bin/berth agent --enrol --join-file - "$@"
`,
    args: [
      ...addressArgs(joining),
      '--name',
      joining.name,
      ...joining.labels.flatMap((label) => ['--label', label]),
    ],
  };
}

export function serviceOrder(systemd: boolean): Order {
  return systemd
    ? {
        what: 'Run the agent as a service of systemd',
        script: `
set -e
cp ${HOME}/current/packaging/systemd/${UNIT} /etc/systemd/system/${UNIT}
systemctl daemon-reload
systemctl enable --quiet ${UNIT}
systemctl restart ${UNIT}
`,
        args: [],
      }
    : {
        what: `Start the agent detached (no systemd there), with its log in ${LOG}`,
        script: `
${RUNNING}
${STOP}
[ -r /etc/berth/agent.env ] && set -a && . /etc/berth/agent.env && set +a
setsid ${HOME}/current/bin/berth agent --data-dir ${DATA_DIR} </dev/null >>${LOG} 2>&1 &
echo $! > ${PID}
`,
        args: [],
      };
}

/** The last that the agent said, for a person who waits. */
export function wordsOrder(systemd: boolean): Pick<Order, 'script' | 'args'> {
  const script = systemd
    ? `journalctl --no-pager --output=cat --lines=12 --unit=${UNIT}`
    : `tail -n 12 ${LOG}`;
  return { script, args: [] };
}
