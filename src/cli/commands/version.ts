import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';

export const version: CommandBody = {
  description: [
    'Prints the version of this program. With --server it also asks the control plane for its version.',
  ],
  options: [
    { flags: '--server', description: 'Also ask the control plane of the current context.' },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth version', what: 'this program' },
    { line: 'berth version --server', what: 'both sides' },
  ],
  run: async (session, { options }) => {
    session.terminal.out(`berth ${session.version}\n`);
    if (!options.flag('server')) return EXIT.ok;
    const client = session.client(options);
    const { body: health } = await client.health();
    session.terminal.out(`control plane ${textOf(health.version)} at ${client.target.server}\n`);
    return EXIT.ok;
  },
};
