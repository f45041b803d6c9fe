import type { CompletionContext, Value } from './completion.ts'

/** Completions for bash, including version 3.2 of macOS, which has neither `compopt` nor `mapfile`. */
export function bashScript(spots: readonly CompletionContext[]): string {
  const inner = spots.filter(({ path }) => path !== '')
  return `# bash completion for libero; load it with: source <(libero completion bash)

_libero_commands() {
  case "$1" in
${spots.map(({ path, commands }) => `    ${quote(path)}) echo ${quote(commands.map(({ name }) => name).join(' '))} ;;`).join('\n')}
  esac
}

_libero_flags() {
  case "$1" in
${spots.map(({ path, flags }) => `    ${quote(path)}) echo ${quote(flags.flatMap(({ name, short }) => [name, ...(short ? [short] : [])]).join(' '))} ;;`).join('\n')}
  esac
}

# What follows a flag: words to choose from, @files, @folders, @anything, or nothing at all.
_libero_value() {
  case "$1 $2" in
${valueCases(spots).join('\n')}
  esac
}

_libero_words() {
  case "$1" in
${inner.map(({ path, words }) => `    ${quote(path)}) echo ${quote(shown(words))} ;;`).join('\n')}
  esac
}

# One by one, so that a file named * is not expanded.
_libero_paths() {
  local name
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$1" -- "$2")
}

_libero_offer() {
  case "$1" in
    @files) _libero_paths -f "$2" ;;
    @folders) _libero_paths -d "$2" ;;
    @anything) COMPREPLY=() ;;
    *) COMPREPLY=($(compgen -W "$1" -- "$2")) ;;
  esac
}

_libero() {
  COMPREPLY=()
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  # bash splits --flag=value into three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = && $COMP_CWORD -gt 2 ]]; then
    prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  local path= at=1 word
  while [[ $at -lt $COMP_CWORD ]]; do
    word="\${COMP_WORDS[at]}"
    [[ -n $word && " $(_libero_commands "$path") " == *" $word "* ]] || break
    path="\${path:+$path }$word"
    at=$((at + 1))
  done
  for word in "\${COMP_WORDS[@]:at:COMP_CWORD-at}"; do
    if [[ $word == -- ]]; then
      _libero_offer @files "$cur"
      return
    fi
  done
  local value
  value="$(_libero_value "$path" "$prev")"
  if [[ $value == optional* ]]; then
    [[ $cur == -* ]] && value= || value="\${value#optional }"
  fi
  if [[ -n $value ]]; then
    _libero_offer "$value" "$cur"
  elif [[ $cur == -* ]]; then
    _libero_offer "$(_libero_flags "$path")" "$cur"
  elif [[ $at -eq $COMP_CWORD && -n $(_libero_commands "$path") ]]; then
    _libero_offer "$(_libero_commands "$path")" "$cur"
  elif [[ -n $path ]]; then
    _libero_offer "$(_libero_words "$path")" "$cur"
  fi
}

complete -F _libero libero`
}

/** Quotes a text as one literal word of bash and zsh. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const shown = (value: Value): string => (typeof value === 'string' ? `@${value}` : value.join(' '))

function valueCases(spots: readonly CompletionContext[]): string[] {
  return spots.flatMap(({ path, flags }) =>
    flags.flatMap(({ name, short, value, isOptional }) => {
      if (value === undefined) return []
      const patterns = [name, ...(short ? [short] : [])].map((flag) => quote(`${path} ${flag}`))
      return [`    ${patterns.join(' | ')}) echo ${quote(`${isOptional ? 'optional ' : ''}${shown(value)}`)} ;;`]
    }),
  )
}
