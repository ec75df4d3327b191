import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Client } from '../client.ts';
import type { CommandBody } from '../command.ts';
import {
  type Context,
  CONTEXT_NAME,
  readContexts,
  serverUrl,
  tokenIn,
  withContext,
  writeContexts,
} from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';

export const login: CommandBody = {
  description: [
    'Checks a token with a control plane and remembers both as a context, which becomes the current one. Contexts are kept in ~/.config/berth/config.json (or under XDG_CONFIG_HOME), readable by you only.',
    'The token is typed at a prompt that does not show it, or read from standard input. It is never taken from the command line, where every user of the machine could read it.',
  ],
  options: [
    { flags: '--server <url>', description: 'Address of the control plane, e.g. https://berth.example.com.' },
    {
      flags: '--name <context>',
      description: 'Name to remember it by. Default: the host of the address.',
      names: 'contexts',
    },
    { flags: '--tenant <tenant>', description: 'Tenant to act for by default; only for platform tokens.' },
    {
      flags: '--ca-file <file>',
      description:
        "PEM file of the authority that signed the server's certificate, when this machine does not know it.",
    },
  ],
  examples: [
    { line: 'berth login --server https://berth.example.com', what: 'asks for the token' },
    { line: 'berth login --server http://127.0.0.1:7600 < .berth/admin-token', what: 'reads it from a file' },
  ],
  run: async (session, { options }) => {
    const { terminal, environment } = session;
    const given = options.text('server');
    if (given === undefined)
      throw usage('--server is needed', ['berth login --server https://berth.example.com']);
    const server = serverUrl(given);
    const name = options.text('name') ?? new URL(server).hostname;
    if (!CONTEXT_NAME.test(name))
      throw usage(`${name} cannot name a context`, [
        'letters, digits, dots, hyphens; choose one with --name',
      ]);
    const caFile = options.text('caFile');
    if (caFile !== undefined && !existsSync(caFile))
      throw usage(`--ca-file ${caFile}: there is no such file`);
    const file = readContexts(environment);
    const token = tokenIn(
      terminal.interactive ? await terminal.askHidden('Token: ') : await terminal.readInput(),
      'the token',
    );
    if (token === '') throw usage('no token was given', ['It is read from a prompt or from standard input.']);
    const tenant = options.text('tenant');
    const context: Context = {
      server,
      token,
      ...(tenant === undefined ? {} : { tenant }),
      ...(caFile === undefined ? {} : { caFile: resolve(caFile) }),
    };
    const client = new Client(
      { server, token, tenant, caFile: context.caFile, source: '--server' },
      session.interrupted,
    );
    const { body: health } = await client.health();
    await client.record('GET /api/v1/deployments', { query: { limit: 1 } });
    const path = writeContexts(environment, withContext(file, name, context, true));
    terminal.out(
      `logged in to ${server} (version ${textOf(health.version)}) as context ${name}, now the current one\nkept in ${path}\nnext: berth get deployments\n`,
    );
    return EXIT.ok;
  },
};
