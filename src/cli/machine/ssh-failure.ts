import { Failure } from '../failure.ts';

interface Known {
  /** A piece of what ssh says, in lower case. */
  readonly said: string;
  readonly why: string;
  readonly advice: (destination: string) => readonly string[];
}

/** In this order: what is said of a changed key contains what is said of an unknown one. */
const KNOWN: readonly Known[] = [
  {
    said: 'remote host identification has changed',
    why: 'it shows another host key than the one that ssh remembers',
    advice: (destination) => [
      'It was installed anew, or somebody is between you and it. Find out which, on its console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub',
      `When the key is its own: ssh-keygen -R ${hostOf(destination)}, then again.`,
    ],
  },
  {
    said: 'host key verification failed',
    why: 'its host key is not known here',
    advice: (destination) => [
      `Connect once by hand, compare the fingerprint, and say yes: ssh ${destination}`,
      'On its console the fingerprint is shown by: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub',
    ],
  },
  {
    said: 'permission denied',
    why: 'it lets nobody in with these keys or this password',
    advice: (destination) => [
      `Does this work? ssh ${destination} true`,
      `A key is given with --identity FILE, and put on the machine with: ssh-copy-id ${destination}`,
    ],
  },
  {
    said: 'too many authentication failures',
    why: 'it ended the connection after too many keys',
    advice: () => ['Name the one that fits: --identity FILE --ssh-option IdentitiesOnly=yes'],
  },
  {
    said: 'could not resolve hostname',
    why: 'its name has no address',
    advice: () => ['Check the name, or give the address: berth node add USER@192.0.2.7'],
  },
  {
    said: 'connection refused',
    why: 'nothing listens on the port of SSH there',
    advice: () => ['Is sshd running (apt-get install openssh-server)? Another port: --port N'],
  },
  {
    said: 'no route to host',
    why: 'no way leads to it',
    advice: () => ['Is it switched on and in a network that this machine reaches?'],
  },
  {
    said: 'network is unreachable',
    why: 'no way leads to it',
    advice: () => ['Is this machine in a network that reaches it?'],
  },
  {
    said: 'timed out',
    why: 'it does not answer',
    advice: () => ['Is it switched on, and does a firewall let SSH through? Another port: --port N'],
  },
  {
    said: 'bad configuration option',
    why: 'ssh does not know the option',
    advice: () => ['--ssh-option takes what ssh takes after -o: man ssh_config'],
  },
  {
    said: 'no such identity',
    why: 'the file of --identity is not there',
    advice: () => ['It is the private key, e.g. ~/.ssh/id_ed25519'],
  },
];

/** The last line that ssh said, with why and what to do where that is known. */
export function sshFailure(destination: string, said: string): Failure {
  const text = said.toLowerCase();
  const known = KNOWN.find((one) => text.includes(one.said));
  const last = said.trim().split('\n').at(-1)?.trim() ?? '';
  const shown = last === '' ? [] : [`ssh said: ${last}`];
  if (known === undefined)
    return new Failure(`${destination} cannot be reached over SSH`, {
      advice: [...shown, `Does this work? ssh ${destination} true`],
    });
  return new Failure(`${destination} cannot be reached over SSH: ${known.why}`, {
    advice: [...shown, ...known.advice(destination)],
  });
}

function hostOf(destination: string): string {
  return destination.slice(destination.lastIndexOf('@') + 1);
}
