import { COMPLETE, FILES_MARK } from './protocol.ts';

/** The scripts know no word: they ask the program, so that an update needs no new script. */
const BASH = `_berth() {
  local IFS=$'\\n' current=\${COMP_WORDS[COMP_CWORD]} found
  found=$(command berth ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
  if [ "$found" = '${FILES_MARK}' ]; then
    [ "$current" = '=' ] && current=''
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($found)
  fi
}
complete -F _berth berth
`;

const ZSH = `#compdef berth
_berth() {
  local -a found
  found=("\${(@f)$(command berth ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  if [[ $found[1] == '${FILES_MARK}' ]]; then
    _files
  else
    compadd -- \${found:#}
  fi
}
if [[ $funcstack[1] == _berth ]]; then _berth "$@"; else compdef _berth berth; fi
`;

const FISH = `function __berth_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found (command berth ${COMPLETE} -- $words[2..-1] "$current" 2>/dev/null </dev/null)
  if test "$found[1]" = '${FILES_MARK}'
    __fish_complete_path "$current"
  else
    printf '%s\\n' $found
  end
end
complete -c berth -f -a '(__berth_complete)'
`;

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
