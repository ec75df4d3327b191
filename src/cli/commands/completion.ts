import type { CommandBody } from '../command.ts';
import { SCRIPTS } from '../completion/scripts.ts';
import { EXIT } from '../exit-code.ts';
import { nearest } from '../../core/schema/nearest.ts';
import { usage } from '../failure.ts';

const SHELLS = Object.keys(SCRIPTS);

export const completion: CommandBody = {
  description: [
    'Prints a script that completes commands, flags, and the names of records in your shell. It asks berth for them at every TAB, so that it need not be printed again after an update.',
    'Names are those that the current context (or --context, --tenant and the variables) may list: the first 1,000 of a kind, within one second. Where nobody is logged in, or the control plane does not answer, there are none, and nothing is said about it.',
  ],
  parameters: [{ term: '<shell>', description: `One of: ${SHELLS.join(', ')}.`, values: SHELLS }],
  examples: [
    { line: 'berth completion bash > /etc/bash_completion.d/berth', what: 'bash, for every user' },
    { line: 'berth completion zsh > ~/.zsh/completions/_berth', what: 'zsh; the folder must be in fpath' },
    { line: 'berth completion fish > ~/.config/fish/completions/berth.fish', what: 'fish' },
  ],
  run: async ({ terminal }, { parameters: [shell = ''] }) => {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined) {
      const near = nearest(shell, SHELLS);
      throw usage(`unknown shell ${shell}${near === undefined ? '' : `; did you mean ${near}?`}`, [
        `one of: ${SHELLS.join(', ')}`,
      ]);
    }
    terminal.out(script);
    return EXIT.ok;
  },
};
