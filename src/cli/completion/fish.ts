import type { CompletionContext, FlagSuggestion, Value } from './completion.ts'

/** Completions for fish, with descriptions. */
export function fishScript(spots: readonly CompletionContext[]): string {
  return `# fish completion for libero; put it into ~/.config/fish/completions/libero.fish

# The commands before the cursor, and whether anything else came after them.
function __libero_spot
    set -l words (commandline -opc)
    set -e words[1]
    set -l spot ''
    while set -q words[1]
        switch "$spot|$words[1]"
            case ${spots.flatMap(({ path, commands }) => commands.map(({ name }) => quote(`${path}|${name}`))).join(' ')}
                set spot (string trim "$spot $words[1]")
                set -e words[1]
            case '*'
                break
        end
    end
    echo $spot
    count $words
end

function __libero_at
    set -l found (__libero_spot)
    test "$found[1]" = "$argv[1]"
end

function __libero_begins
    set -l found (__libero_spot)
    test "$found[1]" = "$argv[1]" -a "$found[2]" = 0
end

complete -c libero -f
${spots.flatMap(linesOf).join('\n')}`
}

function linesOf({ path, commands, flags, words }: CompletionContext): string[] {
  const at = `complete -c libero -n ${quote(`__libero_at ${quote(path)}`)}`
  const begins = `complete -c libero -n ${quote(`__libero_begins ${quote(path)}`)}`
  return [
    ...commands.map(({ name, says }) => `${begins} -a ${quote(name)} -d ${quote(says)}`),
    ...flags.map((flag) => `${at} ${flagOf(flag)}`),
    ...(words === 'anything' ? [] : [`${at} ${argumentsOf(words)}`]),
  ]
}

function flagOf({ name, short, says, value, isOptional }: FlagSuggestion): string {
  const parts = [`-l ${name.slice(2)}`, ...(short ? [`-s ${short.slice(1)}`] : []), `-d ${quote(says)}`]
  if (value === undefined) return parts.join(' ')
  return [...parts, ...(isOptional ? [] : ['-r']), argumentsOf(value)].join(' ')
}

function argumentsOf(value: Value): string {
  if (value === 'files') return '-F'
  if (value === 'folders') return `-f -a ${quote('(__fish_complete_directories)')}`
  return value === 'anything' ? '-f' : `-f -a ${quote(value.join(' '))}`
}

/** Quotes a text for fish, where a backslash is special in single quotes too. */
const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
