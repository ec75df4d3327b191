import type { CommandBody, CommandEntry, Option } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { nearest } from '../../core/schema/nearest.ts';
import { usage } from '../failure.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Made from the list of commands, which it cannot import: it is one of them. */
export function completion(commands: () => readonly CommandEntry[]): CommandBody {
  return {
    description: [
      'Prints a script that completes commands, subcommands, kinds and flags in your shell. It is made from the commands themselves, so print it again after an update.',
    ],
    parameters: [{ term: '<shell>', description: `One of: ${SHELLS.join(', ')}.`, values: SHELLS }],
    examples: [
      { line: 'berth completion bash > /etc/bash_completion.d/berth', what: 'bash, for every user' },
      { line: 'berth completion zsh > ~/.zsh/completions/_berth', what: 'zsh; the folder must be in fpath' },
      { line: 'berth completion fish > ~/.config/fish/completions/berth.fish', what: 'fish' },
    ],
    run: async ({ terminal }, { parameters: [shell = ''] }) => {
      const words = await completionWords(commands());
      switch (shell) {
        case 'bash':
          terminal.out(bashScript(words));
          return EXIT.ok;
        case 'zsh':
          terminal.out(`#compdef berth\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(words)}`);
          return EXIT.ok;
        case 'fish':
          terminal.out(fishScript(words));
          return EXIT.ok;
        default: {
          const near = nearest(shell, SHELLS);
          throw usage(`unknown shell ${shell}${near === undefined ? '' : `; did you mean ${near}?`}`, [
            `one of: ${SHELLS.join(', ')}`,
          ]);
        }
      }
    },
  };
}

/** What may follow each command line: `get` → kinds and flags, `node drain` → flags. */
type Words = readonly (readonly [path: string, words: readonly string[]])[];

async function completionWords(commands: readonly CommandEntry[]): Promise<Words> {
  const bodies = await Promise.all(commands.map(async ({ name, load }) => [name, await load()] as const));
  const found: [string, readonly string[]][] = [['', commands.map((command) => command.name)]];
  for (const [name, body] of bodies) {
    found.push([name, wordsOf(body)]);
    for (const sub of body.subcommands ?? []) found.push([`${name} ${sub.name}`, wordsOf(sub)]);
  }
  return found;
}

function wordsOf(body: CommandBody): readonly string[] {
  return [
    ...(body.subcommands ?? []).map((sub) => sub.name),
    ...(body.parameters ?? []).flatMap((parameter) => parameter.values ?? []),
    ...(body.options ?? []).map(longFlag),
    '--help',
  ];
}

function longFlag({ flags }: Option): string {
  return /--[a-z-]+/.exec(flags)?.[0] ?? flags;
}

function bashScript(words: Words): string {
  const cases = words.map(([path, list]) => `    "${path}") words="${list.join(' ')}" ;;`);
  return `_berth() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  while :; do
    case "$path" in
${cases.join('\n')}
    esac
    [ -n "$words" ] && break
    [ -z "$path" ] && break
    case $path in *' '*) path=\${path% *} ;; *) path='' ; break ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _berth berth
`;
}

function fishScript(words: Words): string {
  const lines = words.flatMap(([path, list]) => {
    const condition =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    return list.map((word) =>
      word.startsWith('--')
        ? `complete -c berth -n '${condition}' -l ${word.slice(2)}`
        : `complete -c berth -f -n '${condition}' -a ${word}`,
    );
  });
  return `${lines.join('\n')}\n`;
}
