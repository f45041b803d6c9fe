import { quote } from './bash.ts'
import type { CompletionContext, FlagSuggestion, Suggestion, Value } from './completion.ts'

/** Completions for zsh, with descriptions. */
export function zshScript(spots: readonly CompletionContext[]): string {
  return `#compdef libero
# zsh completion for libero; put it into a folder of $fpath as _libero, or load it with: source <(libero completion zsh)

_libero_commands() {
  reply=()
  case "$1" in
${spots
  .filter(({ commands }) => commands.length > 0)
  .map(({ path, commands }) => `    ${quote(path)}) reply=(${commands.map(described).join(' ')}) ;;`)
  .join('\n')}
  esac
}

_libero_flags() {
  reply=()
  case "$1" in
${spots.map(({ path, flags }) => `    ${quote(path)}) reply=(${flags.flatMap(spellings).map(described).join(' ')}) ;;`).join('\n')}
  esac
}

# What follows a flag: words to choose from, or @files, @folders, @anything; nothing for a switch.
_libero_value() {
  reply=()
  case "$1 $2" in
${spots.flatMap(({ path, flags }) => flags.flatMap((flag) => valueCase(path, flag))).join('\n')}
  esac
}

_libero_words() {
  reply=()
  case "$1" in
${spots.map(({ path, words }) => `    ${quote(path)}) reply=(${listed(words)}) ;;`).join('\n')}
  esac
}

_libero_offer() {
  case "$1" in
    @files) _files ;;
    @folders) _files -/ ;;
    @anything) _message 'value' ;;
    *) compadd -- "$@" ;;
  esac
}

_libero() {
  local -a reply names
  local spot='' word
  integer at=2 i
  while (( at < CURRENT )); do
    word="\${words[at]}"
    _libero_commands "$spot"
    names=("\${reply[@]%%:*}")
    [[ -n "$word" ]] && (( \${names[(Ie)$word]} )) || break
    spot="\${spot:+$spot }$word"
    (( at++ ))
  done
  for (( i = at; i < CURRENT; i++ )); do
    if [[ "\${words[i]}" == -- ]]; then
      _files
      return
    fi
  done
  local cur="\${words[CURRENT]}"
  if [[ "$cur" == --*=* ]]; then
    _libero_value "$spot" "\${cur%%=*}"
    compset -P '*='
  else
    _libero_value "$spot" "\${words[CURRENT-1]}"
    if [[ "\${reply[1]}" == @optional ]]; then
      shift reply
      [[ "$cur" == -* ]] && reply=()
    fi
  fi
  [[ "\${reply[1]}" == @optional ]] && shift reply
  if (( \${#reply} )); then
    _libero_offer "\${reply[@]}"
    return
  fi
  if [[ "$cur" == -* ]]; then
    _libero_flags "$spot"
    _describe -o 'flag' reply
    return
  fi
  _libero_commands "$spot"
  if (( at == CURRENT && \${#reply} )); then
    _describe 'command' reply
    return
  fi
  _libero_words "$spot"
  (( \${#reply} )) && _libero_offer "\${reply[@]}"
}

if [[ "\${funcstack[1]}" == _libero ]]; then
  _libero "$@"
else
  compdef _libero libero
fi`
}

/** `name:description`, as `_describe` expects it. */
const described = ({ name, says }: Suggestion): string =>
  quote(`${name.replaceAll(':', '\\:')}:${says.replaceAll(':', '\\:')}`)

const spellings = ({ name, short, says }: FlagSuggestion): Suggestion[] => [
  { name, says },
  ...(short ? [{ name: short, says }] : []),
]

const listed = (value: Value): string => (typeof value === 'string' ? `@${value}` : value.map(quote).join(' '))

function valueCase(path: string, { name, short, value, isOptional }: FlagSuggestion): string[] {
  if (value === undefined) return []
  const patterns = [name, ...(short ? [short] : [])].map((flag) => quote(`${path} ${flag}`))
  return [`    ${patterns.join('|')}) reply=(${isOptional ? '@optional ' : ''}${listed(value)}) ;;`]
}
