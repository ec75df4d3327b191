import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { checked } from '../doctor/lines.ts';
import { EXIT } from '../exit-code.ts';

const MARK = { good: '✔', bad: '✘', unknown: '·' } as const;

export const doctor: CommandBody = {
  description: [
    'Checks what usually goes wrong, from here and at the control plane, and says for each problem what to do: the address, the token, the store, the secrets store, the clocks, the nodes and the network between them, the container engine of this machine and what it needs for that network, disk space and the local registry.',
    'Ends with 1 when something is wrong.',
  ],
  options: REMOTE_OPTIONS,
  examples: [{ line: 'berth doctor', what: 'every check' }],
  run: async (session, { options }) => {
    const { terminal } = session;
    const { style } = terminal;
    const colours = { good: style.green, bad: style.red, unknown: style.dim };
    let bad = 0;
    for await (const { name, finding } of checked(session, options)) {
      if (finding.state === 'bad') bad += 1;
      terminal.out(`${colours[finding.state](MARK[finding.state])} ${name.padEnd(16)} ${finding.text}\n`);
      for (const line of finding.advice ?? []) terminal.out(`${' '.repeat(19)}${line}\n`);
    }
    terminal.out(bad === 0 ? 'nothing is wrong\n' : `${bad} ${bad === 1 ? 'problem' : 'problems'}\n`);
    return bad === 0 ? EXIT.ok : EXIT.refused;
  },
};
